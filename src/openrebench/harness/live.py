"""The attempts that this process is running: opened by the task, closed whatever happens."""

import contextlib
import itertools
import shutil
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock

import anyio.to_thread
from inspect_ai.util import suspend_working_limit
from pydantic import JsonValue

from openrebench.core.attempt import Attempt, Ended
from openrebench.core.score_log import ScoreEntry
from openrebench.core.seed import Seed
from openrebench.core.service import Entrance, open_door
from openrebench.core.workspace import stage
from openrebench.harness import compat
from openrebench.harness.accounts import Accounts, Book, ModelUsed, write_accounts
from openrebench.harness.clock import Standstill, WorkingClock
from openrebench.isolation.device import Permit, permit_if_free
from openrebench.isolation.local import LocalRunner
from openrebench.sandbox.provider import OpenREBenchSandbox

KEY = "openrebench:attempt"  # where a sample's log names its attempt
SCORING = "openrebench/scoring"
PERMIT_POLL_S = 0.05

_open: dict[str, "LiveAttempt"] = {}
_folders: list[Path] = []
_lock = Lock()


@dataclass(kw_only=True)
class LiveAttempt:
    """An attempt with what it needs while a solver works at it.

    Args:
        number: Which attempt of the task it is, from 1.
        charge_scoring: Whether score calls use the solver's time.
        earlier: Accounts of earlier sessions; fresh ones for a new attempt.
        usage: What this session uses of each model, as Inspect counts it.
        wall_limit_s: Wall seconds that there are.
        gpus: GPUs that it holds, None if that is unknown.
        settings: What the agent said about its settings.
        over: Which limit of ours ended it, empty if none did.
    """

    attempt: Attempt
    runner: LocalRunner
    box: OpenREBenchSandbox
    clock: WorkingClock
    number: int
    charge_scoring: bool
    earlier: Accounts = field(default_factory=Accounts)
    usage: Mapping[str, ModelUsed] = field(default_factory=dict)
    gpus: int | None = 0
    wall_limit_s: float | None = None
    began: float | None = None
    settings: dict[str, JsonValue] = field(default_factory=dict)
    door: Entrance | None = None
    over: str = ""

    def __post_init__(self) -> None:
        self.standstill = Standstill(self.box, self.clock)
        self.book = Book(self.earlier, self.usage)

    @property
    def resumed(self) -> bool:
        """Whether an earlier session of it was interrupted."""
        return bool(self.attempt.record.resumed)

    async def score(self) -> ScoreEntry:
        """Score the workspace now; counts at this moment, however long it takes.

        Scoring is finished even if the solver's time ends meanwhile: it was asked for in time.
        """
        requested_at_s = self.clock.used_s()
        async with contextlib.AsyncExitStack() as turn:
            with contextlib.ExitStack() as wait, suspend_working_limit():
                hold = self.standstill.hold(charged=False)
                await anyio.to_thread.run_sync(wait.enter_context, hold)
                await turn.enter_async_context(compat.one_at_a_time(SCORING))
                while (permit := permit_if_free()) is None:
                    await anyio.sleep(PERMIT_POLL_S)
                turn.callback(permit.close)
            if not self.charge_scoring:
                turn.enter_context(suspend_working_limit())
            return await anyio.to_thread.run_sync(self._score, requested_at_s, permit)

    def _score(self, requested_at_s: float, permit: Permit) -> ScoreEntry:
        readings = itertools.chain([requested_at_s], iter(self.clock.used_s, None))
        with contextlib.ExitStack() as stack:
            stack.enter_context(permit.used())
            if self.attempt.environment.card.score.is_time or not self.charge_scoring:
                stack.enter_context(self.standstill.hold(charged=self.charge_scoring))
            return self.attempt.score(self.attempt.workspace, lambda: next(readings))

    def begin(self) -> None:
        """Stage the workspace, give it to the agent's user and score the starting solution."""
        record, workspace = self.attempt.record, self.attempt.workspace
        if not self.attempt.log.entries:  # else it is resumed, and keeps its files
            shutil.rmtree(workspace, ignore_errors=True)
            stage(self.attempt.environment, record.profile, workspace, seed=Seed.fresh())
            self.attempt.score(workspace, lambda: 0.0)
        environment, folder = self.attempt.environment, self.attempt.folder
        profile = environment.card.profile(record.profile)
        self.door = open_door(environment, profile, folder, workspace)
        self.box.start(workspace)

    def go(self) -> None:
        """Let the solver's time begin."""
        self.began = time.monotonic()
        self.clock.go()

    def wall_s(self) -> float:
        """Wall seconds since the solver's time began, over all sessions."""
        return self.earlier.wall_s + (0.0 if self.began is None else time.monotonic() - self.began)

    def write_accounts(self) -> Accounts:
        """Write what has been used so far beside the score log."""
        wall_s, entries = self.wall_s(), self.attempt.log.entries
        accounts = self.book.accounts(
            time_budget_s=self.attempt.record.time_budget_s,
            working_s=self.clock.used_s(),
            wall_s=wall_s,
            scoring_s=sum(entry.seconds for entry in entries),
            score_calls=len(entries),
            gpu_s=_plus(self.earlier.gpu_s, self.gpus, wall_s - self.earlier.wall_s),
        )
        with contextlib.suppress(OSError):  # a full disk: the next beat may find room
            write_accounts(self.attempt.folder, accounts)
        return accounts

    def end(self, ended: Ended) -> None:
        """Stop everything, write how it ended, and let go of everything; each whatever fails."""
        self.clock.stop()
        with contextlib.ExitStack() as last_first:
            last_first.callback(self.runner.close)
            if self.door is not None:
                last_first.callback(self.door.close)
            last_first.callback(self._record_end, ended)
            last_first.callback(self.box.stop)

    def _record_end(self, ended: Ended) -> None:
        solver = self.attempt.record.solver
        if self.settings:
            solver = solver.model_copy(update={"settings": {**solver.settings, **self.settings}})
            self.attempt.record = self.attempt.record.model_copy(update={"solver": solver})
        self.attempt.end(ended, self.write_accounts().usage())


def _plus(earlier_s: float | None, gpus: int | None, wall_s: float) -> float | None:
    """Add the seconds of GPUs; unknown if a part is."""
    return None if earlier_s is None or gpus is None else earlier_s + gpus * wall_s


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
