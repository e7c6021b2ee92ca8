"""The attempts that this process is running: opened by the task, closed whatever happens."""

import itertools
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock

import anyio.to_thread
from inspect_ai.util import suspend_working_limit
from pydantic import JsonValue

from openrebench.core.attempt import Attempt, Ended, Usage
from openrebench.core.score_log import ScoreEntry
from openrebench.core.seed import Seed
from openrebench.core.service import Door, open_door
from openrebench.core.workspace import stage
from openrebench.harness import compat
from openrebench.isolation.device import exclusive
from openrebench.isolation.local import LocalRunner
from openrebench.sandbox.provider import OpenREBenchSandbox

KEY = "openrebench:attempt"  # where a sample's log names its attempt
SCORING = "openrebench/scoring"

_open: dict[str, "LiveAttempt"] = {}
_folders: list[Path] = []
_lock = Lock()


@dataclass
class LiveAttempt:
    """An attempt with what it needs while a solver works at it.

    Args:
        number: Which attempt of the task it is, from 1.
        charge_scoring: Whether score calls use the solver's time.
        settings: What the agent said about its settings.
    """

    attempt: Attempt
    runner: LocalRunner
    box: OpenREBenchSandbox
    clock: compat.Clock
    number: int
    charge_scoring: bool
    began: float = field(default_factory=time.monotonic)
    settings: dict[str, JsonValue] = field(default_factory=dict)
    door: Door | None = None

    async def score(self) -> ScoreEntry:
        """Score the workspace now; counts at this moment, however long it takes.

        Scoring is finished even if the solver's time ends meanwhile: it was asked for in time.
        """
        requested_at_s = self.clock.used_s()
        if not self.charge_scoring:
            with suspend_working_limit():
                return await self._score_alone(requested_at_s)
        return await self._score_alone(requested_at_s)

    async def _score_alone(self, requested_at_s: float) -> ScoreEntry:
        async with compat.one_at_a_time(SCORING):
            with suspend_working_limit():
                await anyio.to_thread.run_sync(_wait_for_device, abandon_on_cancel=True)
            readings = itertools.chain([requested_at_s], iter(self.clock.used_s, None))
            return await anyio.to_thread.run_sync(self._score, lambda: next(readings))

    def _score(self, clock: Callable[[], float]) -> ScoreEntry:
        with self.box.frozen():
            return self.attempt.score(self.attempt.workspace, clock)

    def begin(self) -> None:
        """Stage the workspace, give it to the agent's user and score the starting solution."""
        record = self.attempt.record
        stage(self.attempt.environment, record.profile, self.attempt.workspace, seed=Seed.fresh())
        self.attempt.score(self.attempt.workspace, lambda: 0.0)
        environment, folder = self.attempt.environment, self.attempt.folder
        profile = environment.card.profile(record.profile)
        self.door = open_door(environment, profile, folder, self.attempt.workspace)
        self.box.start(self.attempt.workspace)

    def end(self, ended: Ended, usage: Usage) -> None:
        """Write how it ended, and let go of everything."""
        solver = self.attempt.record.solver
        if self.settings:
            solver = solver.model_copy(update={"settings": {**solver.settings, **self.settings}})
            self.attempt.record = self.attempt.record.model_copy(update={"solver": solver})
        try:
            self.attempt.end(ended, usage)
        finally:
            self.box.stop()
            if self.door is not None:
                self.door.close()
            self.runner.close()


def _wait_for_device() -> None:
    """Wait until no other process scores, so that only our own scoring uses the solver's time."""
    with exclusive():
        pass


def add(live: LiveAttempt) -> None:
    """Note an attempt of the running sample."""
    with _lock:
        _open[live.attempt.record.id] = live
        _folders.append(live.attempt.folder)
    compat.remember(KEY, live.attempt.record.id)


def current() -> LiveAttempt:
    """Give the attempt of the running sample.

    Raises:
        RuntimeError: The sample belongs to no task of ours.
    """
    live = find_current()
    if live is None:
        raise RuntimeError("this works only during an attempt, in a task of openrebench")
    return live


def find_current() -> LiveAttempt | None:
    """Give the attempt of the running sample, or None if none has begun."""
    return _open.get(compat.remembered(KEY) or "")


def remove_current() -> LiveAttempt | None:
    """Forget the attempt of the running sample; gives it, if it was open."""
    with _lock:
        return _open.pop(compat.remembered(KEY) or "", None)


def all_open() -> list[LiveAttempt]:
    """List the attempts that are running."""
    with _lock:
        return list(_open.values())


def folders() -> list[Path]:
    """List the folders of all attempts that this process has begun, oldest first."""
    with _lock:
        return list(_folders)
