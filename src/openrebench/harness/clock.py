"""Working time of an attempt, and the pauses that don't count.

A pause never gives free compute: the clock stands only while the agent's whole sandbox stands.
Where the sandbox can't be stopped, the clock goes on.
"""

import contextlib
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from typing import Protocol


class Freezable(Protocol):
    """A sandbox whose processes can be stopped for a while."""

    def frozen(self) -> AbstractContextManager[bool]:
        """Stop them; gives whether that could be done."""


class WorkingClock:
    """Seconds of work: wall time since the start without the pauses, readable from any thread.

    Args:
        limit_s: Working seconds that there are, or None for no limit.
        earlier_s: Working seconds used before, by an attempt that is resumed.
        now: Gives seconds that only go forward.
    """

    def __init__(
        self,
        limit_s: float | None,
        earlier_s: float = 0.0,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        self._limit_s = limit_s
        self._earlier_s = earlier_s
        self._now = now
        self._lock = threading.Lock()
        self._runs_since: float | None = None

    def go(self) -> None:
        """Let it run; nothing if it does."""
        with self._lock:
            if self._runs_since is None:
                self._runs_since = self._now()

    def stop(self) -> None:
        """Let it stand; nothing if it does."""
        with self._lock:
            if self._runs_since is not None:
                self._earlier_s += self._now() - self._runs_since
                self._runs_since = None

    def used_s(self) -> float:
        """Working seconds so far."""
        with self._lock:
            running_s = 0.0 if self._runs_since is None else self._now() - self._runs_since
            return self._earlier_s + running_s

    def limit_s(self) -> float | None:
        """Working seconds that there are, or None without a limit."""
        return self._limit_s

    @property
    def left_s(self) -> float | None:
        """Working seconds left, or None without a limit."""
        return None if self._limit_s is None else max(0.0, self._limit_s - self.used_s())


class Standstill:
    """Stops a sandbox for as long as anybody wants it to stand, and the clock with it.

    Args:
        box: The sandbox.
        clock: Stands while somebody holds the sandbox uncharged, if it really stands.
    """

    def __init__(self, box: Freezable, clock: WorkingClock) -> None:
        self._box = box
        self._clock = clock
        self._lock = threading.Lock()
        self._frozen = contextlib.ExitStack()
        self._stands = False
        self._holds, self._uncharged = 0, 0

    @contextlib.contextmanager
    def hold(self, *, charged: bool) -> Iterator[bool]:
        """Let the sandbox stand; gives whether it does. Holds may overlap.

        Args:
            charged: Whether the solver pays for the time.
        """
        self._begin(charged)
        try:
            yield self._stands
        finally:
            self._end(charged)

    def _begin(self, charged: bool) -> None:
        with self._lock:
            if self._holds == 0:
                self._stands = self._frozen.enter_context(self._box.frozen())
            self._holds += 1
            self._uncharged += not charged
            if self._uncharged and self._stands:
                self._clock.stop()

    def _end(self, charged: bool) -> None:
        with self._lock:
            self._holds -= 1
            self._uncharged -= not charged
            if self._uncharged == 0:
                self._clock.go()
            if self._holds == 0:
                self._frozen.close()
