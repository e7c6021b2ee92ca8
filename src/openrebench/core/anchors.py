"""Measured start and reference scores, which give raw scores a scale.

Timing scores mean nothing without the machine, so anchors are files with a hardware
fingerprint. Those measured on this machine (kept under the user's home) win over those that
ship with the environment for the same device; published anchors never stand in for either.
"""

import os
from datetime import UTC, datetime
from pathlib import Path
from statistics import median, stdev
from typing import Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from openrebench.core.card import TaskCard
from openrebench.core.scale import ScoreScale
from openrebench.errors import AnchorsMissing

HOME_VARIABLE = "OPENREBENCH_HOME"
MIN_RUNS = 5
MIN_SLOW_RUNS, SLOW_S = 3, 60.0  # where one score call takes minutes
SPREAD_SDS = 4.0
SPREAD_FLOOR = 0.02


class Anchors(BaseModel):
    """Start and reference of one environment, version and profile on one kind of device.

    Attributes:
        start: Raw scores of the starting solution, one per run: at least 5, or 3 where a score
            call takes over a minute.
        reference: Raw scores of the reference solution, likewise.
        score_call_s: Wall seconds of one score call of the starting solution.
        conditions: How the machine was while measuring.
        final_start: Raw score of the starting solution on the final split; None without one.
        final_reference: The same for the reference solution.
        waypoints: Raw scores of other solutions worth knowing, by name.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    environment: str
    version: str
    profile: str
    device: str
    unit: str
    start: tuple[float, ...]
    reference: tuple[float, ...]
    score_call_s: float
    measured_at: datetime = Field(default_factory=lambda: datetime.now(UTC))
    hardware: dict[str, str | int | float]
    versions: dict[str, str]
    isolation: str
    conditions: str
    final_start: float | None = None
    final_reference: float | None = None
    waypoints: dict[str, float] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _check_runs(self) -> Self:
        fewest, runs = fewest_runs(self.score_call_s), min(len(self.start), len(self.reference))
        if runs < fewest:
            raise ValueError(f"{runs} runs; anchors need at least {fewest} of each solution")
        return self

    def scale(self, card: TaskCard, *, final: bool = False) -> ScoreScale:
        """Give the scale that these anchors span: medians of the runs.

        Args:
            card: Gives unit, direction and transform.
            final: Whether for scores on the final split, which may be a little harder or easier.
        """
        if final and self.final_start is not None and self.final_reference is not None:
            return card.score.scale(self.final_start, self.final_reference)
        return card.score.scale(median(self.start), median(self.reference))

    def spread(self, card: TaskCard) -> float:
        """Give how far a score call of start or reference may lie from 0 or 1.

        Four standard deviations of the normalised runs, the larger of the two, and at least
        0.02: by then it is a change, and not noise of this machine.
        """
        scale = self.scale(card)
        runs = ([scale.normalize(raw) for raw in group] for group in (self.start, self.reference))
        return max(SPREAD_FLOOR, *(SPREAD_SDS * stdev(group) for group in runs))

    @property
    def file_name(self) -> str:
        """Name of the file that they are kept in."""
        return f"{self.profile}-{self.device}.json"

    def save(self, folder: Path) -> Path:
        """Write the anchors into a folder."""
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / self.file_name
        path.write_text(self.model_dump_json(indent=1) + "\n", encoding="utf-8")
        return path


def fewest_runs(score_call_s: float) -> int:
    """Give how often start and reference must be scored, where a score call takes so long."""
    return MIN_SLOW_RUNS if score_call_s > SLOW_S else MIN_RUNS


def home() -> Path:
    """Folder for what belongs to this machine: `$OPENREBENCH_HOME`, else `~/.openrebench`."""
    return Path(os.environ.get(HOME_VARIABLE) or Path.home() / ".openrebench")


def local_folder(card: TaskCard) -> Path:
    """Folder for anchors measured on this machine."""
    return home() / "anchors" / card.id / card.version


def of_another_machine(card: TaskCard, anchors: Anchors) -> bool:
    """Tell whether anchors are times of a machine of this name, which may be quicker by half."""
    own = local_folder(card) / anchors.file_name
    return card.score.is_time and not own.is_file()


def load_anchors(card: TaskCard, profile: str, device: str) -> Anchors:
    """Find the anchors for a device: this machine's own first, then the shipped ones.

    Raises:
        AnchorsMissing: Neither exists for this card version, profile and device.
    """
    name = f"{profile}-{device}.json"
    for folder in (local_folder(card), card.folder / "anchors"):
        if not (folder / name).is_file():
            continue
        try:
            anchors = Anchors.model_validate_json((folder / name).read_text(encoding="utf-8"))
        except (OSError, ValidationError) as error:
            raise AnchorsMissing(
                f"{folder / name}: is not an anchors file ({type(error).__name__}); "
                f"measure again with: re-bench anchors {card.id} --profile {profile}"
            ) from error
        if anchors.version == card.version:
            return anchors
    raise AnchorsMissing(
        f"{card.label(profile)} has no anchors for '{device}'; "
        f"measure them with: re-bench anchors {card.id} --profile {profile}"
    )
