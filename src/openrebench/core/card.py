"""The card of an environment: who, what, direction, limits, profiles. Data only."""

import tomllib
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from openrebench.core.scale import Direction, ScoreScale, Transform
from openrebench.errors import CardError, UnknownEnvironment
from openrebench.isolation.runner import Limits

CARD_NAME = "card.toml"
TIME_UNITS = frozenset({"us", "ms", "s"})
Parameter = int | float | str | bool


class _Strict(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class ScoreSpec(_Strict):
    """How raw scores of an environment are read.

    Attributes:
        counts: Which entry of a score log is the attempt's score: the best valid one or the last.
        visible: Whether the solver is shown the score.
    """

    unit: str
    direction: Direction
    transform: Transform
    offset: float = 0.0
    counts: Literal["best", "last"] = "best"
    visible: bool = True

    @property
    def is_time(self) -> bool:
        """Whether scores are times, which anything else that runs would disturb."""
        return self.unit in TIME_UNITS

    def scale(self, start: float, reference: float) -> ScoreScale:
        """Give the scale between two measured raw scores."""
        return ScoreScale(
            unit=self.unit,
            direction=self.direction,
            transform=self.transform,
            offset=self.offset,
            start=start,
            reference=reference,
        )


class Profile(_Strict):
    """One size of an environment.

    Attributes:
        device: What the submission runs on.
        summary: One sentence for `re-bench show`.
        limits: Limits of one score call.
        max_submission_bytes: Overrides the card's limit at this size.
        parameters: Sizes and counts that `environment.py` reads; free-form.
    """

    device: Literal["cpu", "cuda"]
    summary: str
    limits: Limits
    max_submission_bytes: int | None = None
    parameters: dict[str, Parameter] = Field(default_factory=dict)

    def integer(self, name: str) -> int:
        """Read an integer parameter.

        Raises:
            CardError: It is missing or not an integer.
        """
        value = self.parameters.get(name)
        if not isinstance(value, int) or isinstance(value, bool):
            raise CardError(f"profile parameter '{name}' is {value!r}; it must be an integer")
        return value


class Published(_Strict):
    """Facts about the published environment, each with its source."""

    name: str
    start: float
    reference: float
    unit: str
    hardware: str
    source: str


class TaskCard(_Strict):
    """Everything about an environment that is data.

    Attributes:
        id: Name of the folder, and the environment's name everywhere.
        version: Moves whenever scores could.
        submission: Glob patterns, relative to the workspace, of the files that are scored.
        max_submission_bytes: Total size above which a submission is refused, at most sizes.
        folder: Where the environment lives; set by `load`.
    """

    id: str = Field(pattern=r"^[a-z][a-z0-9_]*$")
    version: str = Field(pattern=r"^\d+\.\d+\.\d+$")
    title: str
    aliases: tuple[str, ...] = ()
    summary: str
    submission: tuple[str, ...]
    max_submission_bytes: int = 16 << 20
    score: ScoreSpec
    profiles: dict[str, Profile]
    published: Published | None = None
    folder: Path = Path()

    @classmethod
    def load(cls, folder: Path) -> "TaskCard":
        """Read and check `card.toml` in an environment's folder.

        Raises:
            CardError: The file is missing, not TOML, or has a wrong or unknown field.
        """
        path = folder / CARD_NAME
        try:
            data = tomllib.loads(path.read_text(encoding="utf-8"))
            card = cls.model_validate({**data, "folder": folder})
        except OSError as error:
            raise CardError(f"{path}: can't be read ({error.strerror})") from error
        except tomllib.TOMLDecodeError as error:
            raise CardError(f"{path}: is not TOML ({error})") from error
        except ValidationError as error:
            raise CardError(f"{path}: {_first_problem(error)}") from error
        if card.id != folder.name:
            raise CardError(f"{path}: id is '{card.id}'; it must be the folder's name")
        return card

    def profile(self, name: str) -> Profile:
        """Look up a profile by name.

        Raises:
            UnknownEnvironment: This environment has no such profile.
        """
        if name not in self.profiles:
            known = ", ".join(self.profiles)
            raise UnknownEnvironment(f"{self.id} has no profile '{name}'; it has: {known}")
        return self.profiles[name]

    def submission_limit(self, profile: str) -> int:
        """Give the total size in bytes above which a submission is refused at a size."""
        return self.profile(profile).max_submission_bytes or self.max_submission_bytes

    def label(self, profile: str) -> str:
        """Name a card at a version and size, for example `prefix_sum@1.0.0/small`."""
        return f"{self.id}@{self.version}/{profile}"


def _first_problem(error: ValidationError) -> str:
    problem = error.errors()[0]
    place = ".".join(str(part) for part in problem["loc"]) or "the file"
    found = "" if problem["type"] == "missing" else f", found {problem['input']!r}"
    return f"{place}: {problem['msg']}{found}"
