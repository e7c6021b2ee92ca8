"""Working time of a person, kept on the trusted side and on disk.

    clock.jsonl     every start and stop of the clock, with its reason; forced to disk
    accounts.json   how much is used, replaced about once a second (see harness/accounts.py)

A runner that is killed leaves a clock that was running. Who takes the attempt up again counts a
whole beat more than the accounts say: that is the most that can be missing, so that killing the
runner gains no time. A machine that sleeps adds nothing; its processes stand still too.
"""

import contextlib
import threading
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal, NamedTuple

from openrebench.core.attempt import Attempt, Usage
from openrebench.core.service import Journal, Row
from openrebench.harness.accounts import BEAT_S, Accounts, read_accounts, write_accounts
from openrebench.harness.clock import WorkingClock

CLOCK = "clock.jsonl"
CRASHED = "the runner ended without a word"

Stop = Literal["paused", "recovered", "ended"]
Event = Literal["started"] | Stop
State = Literal["not started", "running", "paused", "ended"]
STATES: dict[str, State] = {
    "started": "running",
    "paused": "paused",
    "recovered": "paused",
    "ended": "ended",
}


class Reading(NamedTuple):
    """What the clock of an attempt says, read from its folder."""

    state: State
    used_s: float
    pauses: tuple[Row, ...]


def read_clock(folder: Path) -> Reading | None:
    """Read the clock of a person's attempt; None if it has none.

    Of a clock that is or was running, the working time is that of its last beat.
    """
    events = Journal(folder / CLOCK).rows()
    if not events:
        return None
    state, used_s = STATES[str(events[-1]["event"])], _seconds(events[-1])
    beat = read_accounts(folder)
    if state == "running" and beat is not None:
        used_s = max(used_s, beat.working_s)
    pauses = tuple(row for row in events if row["event"] in ("paused", "recovered"))
    return Reading(state, used_s, pauses)


def _seconds(row: Row) -> float:
    return float(str(row["used_s"]))


class Clock:
    """The clock and the accounts of an attempt that this process runs; it stands at first.

    Args:
        attempt: Open for writing.
        now: Gives seconds that only go forward.
    """

    def __init__(self, attempt: Attempt, now: Callable[[], float] = time.monotonic) -> None:
        assert attempt.record.time_budget_s is not None
        self.budget_s = attempt.record.time_budget_s
        self._attempt = attempt
        self._journal = Journal(attempt.folder / CLOCK)
        self._earlier = read_accounts(attempt.folder) or Accounts(time_budget_s=self.budget_s)
        self._running = False
        self._beating = threading.Lock()
        self._time = WorkingClock(self.budget_s, self._recovered_s(), now)

    def _recovered_s(self) -> float:
        """Give the time used before: by a clock that was stopped, or whose runner died."""
        found = read_clock(self._attempt.folder)
        if found is None:
            return 0.0
        if found.state != "running":
            return found.used_s
        known_s = [entry.elapsed_s for entry in self._attempt.log.entries]
        used_s = max([found.used_s + BEAT_S, *known_s])
        reason = f"{CRASHED}; {used_s - found.used_s:.1f} s counted after its last beat"
        self._write("recovered", used_s, reason)
        return used_s

    @property
    def running(self) -> bool:
        """Whether working time passes, short waits of ours apart."""
        return self._running

    def used_s(self) -> float:
        """Give working seconds so far."""
        return self._time.used_s()

    def left_s(self) -> float:
        """Give working seconds left, at least 0."""
        return self._time.left_s or 0.0

    def start(self, reason: str) -> None:
        """Let working time pass, from before this is on disk."""
        stood_at_s = self.used_s()
        self._time.go()
        self._running = True
        self._write("started", stood_at_s, reason)
        self.beat()

    def stop(self, event: Stop, reason: str) -> None:
        """Let no more working time pass. On disk when this returns."""
        self._time.stop()
        self._running = False
        self._write(event, self.used_s(), reason)
        self.beat()

    @contextlib.contextmanager
    def held(self) -> Iterator[None]:
        """Let no working time pass for a wait of ours, which leaves no entry."""
        self._time.stop()
        try:
            yield
        finally:
            if self._running:
                self._time.go()

    def beat(self) -> Usage:
        """Put how much is used on disk, and give it."""
        wall = datetime.now(UTC) - self._attempt.record.started_at
        entries = self._attempt.log.entries
        accounts = self._earlier.model_copy(
            update={
                "updated_at": datetime.now(UTC),
                "working_s": self.used_s(),
                "wall_s": wall.total_seconds(),
                "scoring_s": sum(entry.seconds for entry in entries),
                "score_calls": len(entries),
                "gpu_s": None,
            }
        )
        with self._beating:
            write_accounts(self._attempt.folder, accounts)
        return Usage(working_s=accounts.working_s, wall_s=accounts.wall_s)

    def _write(self, event: Event, used_s: float, reason: str) -> None:
        self._journal.append({"event": event, "used_s": round(used_s, 3), "reason": reason})
