"""What an environment is: two methods on top of its card."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from pydantic import JsonValue

from openrebench.core.card import Profile, TaskCard
from openrebench.core.seed import Seed
from openrebench.isolation.runner import Runner


@dataclass(frozen=True, kw_only=True)
class Measurement:
    """A valid score, before anything is written down.

    Args:
        raw: Raw score in the card's unit, finite.
        message: One sentence for the solver.
        details: For the log only; never shown to the solver.
        flags: What a person should look at. A flag never changes a score.
    """

    raw: float
    message: str
    details: Mapping[str, JsonValue] = field(default_factory=dict)
    flags: tuple[str, ...] = ()


class Environment(ABC):
    """One of the environments. Subclasses are final, and live in `environments/<id>/`."""

    def __init__(self, card: TaskCard) -> None:
        self.card = card

    def prepare(self, workspace: Path, profile: Profile, *, seed: Seed) -> None:  # noqa: B027
        """Add what is made per attempt to a workspace that already holds `agent/`."""

    def reference(self, profile: str) -> Path:
        """Give the folder of the reference solution: one for a size goes before one for all.

        Environments whose reference is too large to ship override this for such sizes.
        """
        own = self.card.folder / "hidden" / f"reference-{profile}"
        return own if own.is_dir() else self.card.folder / "hidden" / "reference"

    def unavailable(self, profile: Profile) -> str | None:
        """Say in one sentence why this machine can't run the profile, or None if it can."""
        return None

    def fetch(self, profile: str) -> None:  # noqa: B027
        """Get or make on this machine what the profile needs beyond what ships.

        Raises:
            ReBenchError: It can't be had here; one sentence says why.
        """

    @abstractmethod
    def score(
        self, submission: Path, runner: Runner, profile: Profile, *, seed: Seed
    ) -> Measurement:
        """Measure a submission with fresh secret inputs.

        Args:
            submission: Read-only snapshot of the submission's files.
            runner: The only way to run anything of the submission.
            profile: The size to score at.
            seed: All randomness of this call.

        Raises:
            InvalidSubmission: The submission can't be scored, by its own fault.
        """

    def score_final(
        self, submission: Path, runner: Runner, profile: Profile, *, seed: Seed
    ) -> Measurement:
        """Measure a submission for its official score; same arguments and errors as `score`.

        Environments that keep a hidden split which no score call of an attempt uses override
        this and measure on that one. Where inputs are fresh in every call, `score` will do.
        """
        return self.score(submission, runner, profile, seed=seed)

    @property
    def has_final_split(self) -> bool:
        """Whether the official score comes from a split of its own."""
        return type(self).score_final is not Environment.score_final
