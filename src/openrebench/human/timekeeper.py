"""What watches a person's time and disk: beats, warnings, and the end when either is used up."""

import logging
import threading
import time
from typing import Protocol

from openrebench.core.attempt import Ended
from openrebench.core.duration import format_duration
from openrebench.harness.accounts import BEAT_S
from openrebench.harness.disk import DiskWatch
from openrebench.human.clock import Clock

log = logging.getLogger(__name__)
TICK_S = 0.2
WARNINGS_S = (1800.0, 600.0, 60.0)


class Sitting(Protocol):
    """Whose time it is."""

    def tell(self, text: str) -> None:
        """Show a line to the person."""

    def show_left(self) -> None:
        """Let the prompt know the time."""

    def finish(self, ended: Ended) -> None:
        """End the attempt."""


class Timekeeper:
    """Keeps the time of one sitting in threads of its own, which nothing else can hold up.

    Args:
        clock: What it watches.
        sitting: What it tells.
        disk: Looks at the workspace; an attempt that fills the disk is ended, as an agent's is.
    """

    def __init__(self, clock: Clock, sitting: Sitting, disk: DiskWatch) -> None:
        self._clock, self._sitting, self._disk = clock, sitting, disk
        self._done = threading.Event()
        self._threads = [
            threading.Thread(target=target, name=f"sitting {target.__name__}", daemon=True)
            for target in (self._keep_time, self._keep_disk)
        ]
        self._to_come = [mark for mark in WARNINGS_S if mark < clock.left_s()]

    def start(self) -> None:
        """Begin."""
        self._sitting.show_left()
        for thread in self._threads:
            thread.start()

    def stop(self) -> None:
        """Stop, and wait until the threads have."""
        self._done.set()
        for thread in self._threads:
            if thread.is_alive():
                thread.join()

    def _keep_time(self) -> None:
        beaten = time.monotonic()
        while not self._done.wait(TICK_S):
            if not self._clock.running:
                continue
            if self._clock.left_s() == 0:
                self._sitting.finish("budget")
                return
            self._warn()
            if time.monotonic() - beaten >= BEAT_S - TICK_S:
                beaten = time.monotonic()
                self._beat()

    def _beat(self) -> None:
        try:
            self._clock.beat()
            self._sitting.show_left()
        except OSError as error:  # a full disk must not end time-keeping
            log.warning("the clock could not be written: %s", error)

    def _keep_disk(self) -> None:
        """Look at the workspace; apart from the time, since a large one takes long to look at."""
        while not self._done.wait(BEAT_S):
            over = self._disk.over() if self._clock.running else None
            if over is not None:
                self._sitting.tell(f"the attempt ends: {over.text}")
                self._sitting.finish("budget")
                return

    def _warn(self) -> None:
        left_s = self._clock.left_s()
        due = [mark for mark in self._to_come if left_s <= mark]
        self._to_come = [mark for mark in self._to_come if left_s > mark]
        if due:
            text = f"{format_duration(min(due))} of working time left"
            last = "; score now what shall count" if not self._to_come else ""
            self._sitting.tell(text + last)
