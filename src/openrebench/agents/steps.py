"""The steps of a scripted agent, as read from a YAML or JSON file."""

from pathlib import Path
from typing import Annotated, Literal

import yaml
from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from openrebench.errors import ReBenchError


class _Step(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Write(_Step):
    """Write a file of the workspace."""

    do: Literal["write"]
    path: str
    content: str


class Run(_Step):
    """Run a shell command in the workspace."""

    do: Literal["run"]
    command: str
    timeout_s: int | None = None


class Score(_Step):
    """Ask for a score, some times over."""

    do: Literal["score"]
    times: int = Field(default=1, ge=1)


class Wait(_Step):
    """Wait, as if thinking."""

    do: Literal["wait"]
    seconds: float


class Submit(_Step):
    """Stop before the last step."""

    do: Literal["submit"]


class Fail(_Step):
    """Raise an error, as a broken scaffold does."""

    do: Literal["fail"]
    message: str = "scripted failure"


Step = Annotated[Write | Run | Score | Wait | Submit | Fail, Field(discriminator="do")]


def read_steps(path: Path) -> list[Step]:
    """Read steps from a YAML or JSON file: a list of mappings, each with `do`.

    Raises:
        ReBenchError: The file can't be read, or a step is wrong.
    """
    steps: TypeAdapter[list[Step]] = TypeAdapter(list[Step])
    try:
        return steps.validate_python(yaml.safe_load(path.read_text(encoding="utf-8")))
    except OSError as error:
        raise ReBenchError(f"{path}: can't be read ({error.strerror})") from error
    except yaml.YAMLError as error:
        raise ReBenchError(f"{path}: is neither YAML nor JSON ({error})") from error
    except ValidationError as error:
        problem = error.errors()[0]
        place = ".".join(str(part) for part in problem["loc"]) or "the file"
        raise ReBenchError(f"{path}: step {place}: {problem['msg']}") from error
