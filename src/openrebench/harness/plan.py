"""A plan: which agents and models attempt which environments, how often, within which limits.

    attempts/plan-<id>.json    written before the first attempt begins, never changed

An attempt names its plan and its place there, so that a plan and a folder of attempts tell what
is left to do, whatever became of the process that ran it.
"""

import fcntl
import hashlib
import itertools
import os
import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal, NamedTuple, Self

from pydantic import BaseModel, ConfigDict, Field, JsonValue, ValidationError

from openrebench.core.attempt import StoredAttempt, find_attempts, read_attempt
from openrebench.errors import AttemptError, ReBenchError
from openrebench.harness.budget import Budget, Fuses
from openrebench.harness.prices import Price

PREFIX, LOCK_SUFFIX = "plan-", ".lock"
NO_MODEL = "none/none"
NEED_NO_MODEL = frozenset({"literal_search", "scripted"})
FINISHED = frozenset({"budget", "submitted", "error"})
IDENTITY = {"id", "created_at"}


class _Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Cell(_Frozen):
    """One attempt of a plan; `number` counts those with the same environment, agent and model."""

    place: int
    environment: str
    agent: str
    model: str
    number: int


class Plan(_Frozen):
    """What a plan file holds.

    Attributes:
        scoring: Whether score calls use the solver's time.
        parallel: Attempts at a time.
        prices: Prices that were given by options or a file, over those that ship.
        cells: All attempts, in the order in which they begin.
    """

    schema_version: Literal[1] = 1
    id: str = Field(pattern=r"^[\w-]+$")
    created_at: datetime
    profile: str
    time_limit_s: float
    scoring: Literal["counted", "free"] = "counted"
    fuses: Fuses = Fuses()
    seed: int = 0
    parallel: int = Field(default=1, ge=1)
    agent_args: Mapping[str, JsonValue] = Field(default_factory=dict)
    model_args: Mapping[str, JsonValue] = Field(default_factory=dict)
    prices: Mapping[str, Price] = Field(default_factory=dict)
    cells: tuple[Cell, ...]

    @classmethod
    def make(
        cls,
        environments: Sequence[str],
        agents: Sequence[str],
        models: Sequence[str],
        attempts: int,
        **settings: object,
    ) -> Self:
        """Plan every agent with every model at every environment, `attempts` times.

        First attempts come first, so that a plan that is cut short is cut evenly. Agents that use
        no model are not repeated for each.
        """
        created = datetime.now(UTC)
        pairs = [
            (agent, model)
            for agent in agents
            for model in ([NO_MODEL] if agent in NEED_NO_MODEL else models)
        ]
        product = itertools.product(range(1, attempts + 1), environments, pairs)
        cells = [
            Cell(place=place, environment=name, agent=pair[0], model=pair[1], number=number)
            for place, (number, name, pair) in enumerate(product, start=1)
        ]
        return cls.model_validate(
            {
                "id": f"{created:%Y%m%dT%H%M%S}-{uuid.uuid4().hex[:6]}",
                "created_at": created,
                "cells": cells,
                **settings,
            }
        )

    @property
    def budget(self) -> Budget:
        """Working time of each attempt."""
        return Budget(self.time_limit_s)

    @property
    def digest(self) -> str:
        """Equal for plans of equal commands."""
        return hashlib.sha256(self.model_dump_json(exclude=IDENTITY).encode()).hexdigest()

    def path(self, root: Path) -> Path:
        """Where the plan is kept in a folder of attempts."""
        return root / f"{PREFIX}{self.id}.json"

    def save(self, root: Path) -> None:
        """Write the plan, on disk when this returns."""
        root.mkdir(parents=True, exist_ok=True)
        part = root / f".{PREFIX}{self.id}.part"
        with part.open("w", encoding="utf-8") as file:
            file.write(self.model_dump_json(indent=1) + "\n")
            file.flush()
            os.fsync(file.fileno())
        part.rename(self.path(root))


class Progress(NamedTuple):
    """A plan's attempts so far, by place."""

    finished: Mapping[int, StoredAttempt]
    begun: Mapping[int, StoredAttempt]

    def left(self, plan: Plan) -> list[Cell]:
        """List what is still to be done."""
        return [cell for cell in plan.cells if cell.place not in self.finished]


def read_plan(path: Path) -> Plan:
    """Read a plan file.

    Raises:
        AttemptError: It is missing or is no plan.
    """
    try:
        return Plan.model_validate_json(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise AttemptError(f"{path}: can't be read ({error.strerror})") from error
    except ValidationError as error:
        problem = error.errors()[0]
        place = ".".join(str(part) for part in problem["loc"]) or "the file"
        raise AttemptError(f"{path}: {place}: {problem['msg']}") from error


def find_plans(folder: Path) -> list[Plan]:
    """Read all plans of a folder of attempts, oldest first; or the one that a path names."""
    if folder.is_file():
        return [read_plan(folder)]
    return [read_plan(path) for path in sorted(folder.glob(f"{PREFIX}*.json"))]


def progress(plan: Plan, root: Path) -> Progress:
    """Find out how far a plan has come. What ended by an interrupt or a crash has only begun."""
    finished: dict[int, StoredAttempt] = {}
    begun: dict[int, StoredAttempt] = {}
    for folder in find_attempts(root):
        attempt = read_attempt(folder)
        if attempt.record.plan == plan.id and attempt.record.place is not None:
            group = finished if attempt.record.ended in FINISHED else begun
            group[attempt.record.place] = attempt
    return Progress(finished, begun)


def unfinished(root: Path, like: Plan | None = None) -> list[Plan]:
    """List the plans of a folder that are not done.

    Args:
        root: Folder of attempts, or a plan file in it.
        like: Only plans of the same command.

    Raises:
        ReBenchError: There is no plan, or none of this command.
    """
    plans = find_plans(root)
    if not plans:
        raise ReBenchError(f"{root}: holds no plan of re-bench run; name its folder of attempts")
    if like is not None:
        plans = [plan for plan in plans if plan.digest == like.digest]
        if not plans:
            raise ReBenchError(
                f"{root}: holds no plan of this command; leave the other arguments out to resume "
                "whatever is not done there"
            )
    folder = root.parent if root.is_file() else root
    return [plan for plan in plans if progress(plan, folder).left(plan)]


@contextmanager
def held(plan: Plan, root: Path) -> Iterator[None]:
    """Keep other processes from running the same plan.

    Raises:
        AttemptError: One does.
    """
    path = root / f".{PREFIX}{plan.id}{LOCK_SUFFIX}"
    fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        _lock(fd, plan.path(root))
        yield
    finally:
        os.close(fd)


def _lock(fd: int, path: Path) -> None:
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        raise AttemptError(f"{path}: another process is running this plan") from error
