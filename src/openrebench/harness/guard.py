"""Watches an attempt while its solver works: time, waits, disk, accounts.

It runs beside the solver in the sample's own task group, and ends it by raising what Inspect
raises at its limits, so that every end takes the same way.
"""

import contextlib
import time
from typing import Literal

import anyio
import anyio.to_thread
from inspect_ai.util import LimitExceededError

from openrebench.harness import compat
from openrebench.harness.accounts import BEAT_S
from openrebench.harness.disk import DiskWatch, Over
from openrebench.harness.live import LiveAttempt

TICK_S = 0.2
_Time = tuple[Literal["working", "time"], float, float | None]


async def guard(attempt: LiveAttempt, disk: DiskWatch) -> None:
    """Watch until the attempt is over one of its limits, or is ended otherwise.

    Raises:
        LimitExceededError: It is over its working time, its wall time or its disk.
    """
    wait = contextlib.ExitStack()
    beaten, waiting = 0.0, False
    with wait:
        while True:
            await anyio.sleep(TICK_S)
            if waiting != compat.is_waiting():
                waiting = not waiting
                await anyio.to_thread.run_sync(_let_stand if waiting else _let_go, attempt, wait)
            _check_time(attempt)
            if time.monotonic() - beaten >= BEAT_S:
                beaten = time.monotonic()
                _check_disk(attempt, await anyio.to_thread.run_sync(_beat, attempt, disk))


def _let_stand(attempt: LiveAttempt, wait: contextlib.ExitStack) -> None:
    """Stop the sandbox while Inspect counts no working time, as while a provider backs off."""
    wait.enter_context(attempt.standstill.hold(charged=False))


def _let_go(_: LiveAttempt, wait: contextlib.ExitStack) -> None:
    wait.close()


def _beat(attempt: LiveAttempt, disk: DiskWatch) -> Over | None:
    attempt.write_accounts()
    try:
        return disk.over()
    except OSError:  # an attempt does not end because it can't be looked at
        return None


def _check_time(attempt: LiveAttempt) -> None:
    working: _Time = "working", attempt.clock.used_s(), attempt.clock.limit_s()
    wall: _Time = "time", attempt.wall_s(), attempt.wall_limit_s
    for kind, used_s, limit_s in (working, wall):
        if limit_s is not None and used_s >= limit_s:
            attempt.over = f"{kind} limit exceeded: {limit_s:g} seconds"
            raise LimitExceededError(kind, value=used_s, limit=limit_s, message=attempt.over)


def _check_disk(attempt: LiveAttempt, over: Over | None) -> None:
    if over is not None:
        attempt.over = f"Disk limit exceeded: {over.text}"
        raise LimitExceededError("custom", value=over.value, limit=over.limit, message=attempt.over)
