"""Requests to stop: Ctrl-C, and what schedulers and closed terminals send instead.

All of them take the way of Ctrl-C, which cancels the running samples, so that attempts end in
order and keep everything. Whatever a sample then fails with, it was interrupted: a cancelled
sandbox or model call raises errors of its own.
"""

import contextlib
import os
import signal
import threading
from collections.abc import Callable, Iterator
from types import FrameType
from typing import Any

LIKE_CTRL_C = (signal.SIGTERM, signal.SIGHUP)
_noted = threading.Event()


def noted() -> bool:
    """Tell whether this process was asked to stop since `heeded` began."""
    return _noted.is_set()


def note() -> None:
    """Watch for Ctrl-C from now on; call it once an event loop has set its own handler."""
    handler = signal.getsignal(signal.SIGINT)
    in_main = threading.current_thread() is threading.main_thread()
    if in_main and callable(handler) and not hasattr(handler, "notes"):
        signal.signal(signal.SIGINT, _noting(handler))


def _noting(handler: Callable[[int, FrameType | None], Any]) -> Callable[..., Any]:
    def noting(number: int, frame: FrameType | None) -> None:
        _noted.set()
        handler(number, frame)

    noting.notes = True  # type: ignore[attr-defined]
    return noting


@contextlib.contextmanager
def heeded() -> Iterator[None]:
    """Treat a scheduler's or a terminal's request to stop as Ctrl-C while this holds."""
    _noted.clear()
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {number: signal.getsignal(number) for number in (*LIKE_CTRL_C, signal.SIGINT)}
    for number in LIKE_CTRL_C:
        if before[number] is signal.SIG_DFL:  # else it is ignored on purpose, as nohup does
            signal.signal(number, lambda *_: os.kill(os.getpid(), signal.SIGINT))
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
