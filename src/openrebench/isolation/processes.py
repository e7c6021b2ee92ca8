"""The processes below another one: found, stopped and let go on without control groups.

In a process-id namespace nobody leaves the tree: whoever loses a parent becomes a child of the
namespace's first process. Stopping is a signal that no process can catch or ignore, and that only
another process can take back; when all stand, nobody is left who could.
"""

import contextlib
import os
import signal
import time
from pathlib import Path

STANDING = frozenset("TtZX")  # stopped, traced, ended
POLL_S = 0.002


def states_below(root: int) -> dict[int, str]:
    """Give the state letter of every descendant of a process, by id."""
    parents, states = {}, {}
    for entry in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError, ValueError):
            state, parent = (entry / "stat").read_text().rpartition(")")[2].split()[:2]
            parents[int(entry.name)], states[int(entry.name)] = int(parent), state
    tree, grown = {root}, True
    while grown:
        below = {pid for pid, parent in parents.items() if parent in tree} - tree
        tree, grown = tree | below, bool(below)
    return {pid: states[pid] for pid in tree - {root} if pid in states}


def stop_below(root: int, timeout_s: float) -> bool:
    """Stop all descendants of a process; tells whether all of them stand.

    They may start others meanwhile, so it goes on until it sees none running.
    """
    deadline = time.monotonic() + timeout_s
    while running := [pid for pid in states_below(root) if not _stands(pid)]:
        if time.monotonic() > deadline:
            return False
        _send(running, signal.SIGSTOP)
        time.sleep(POLL_S)
    return True


def _stands(pid: int) -> bool:
    """Tell whether all threads of a process stand: its first may have ended before the others."""
    for thread in Path("/proc", str(pid), "task").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if (thread / "stat").read_text().rpartition(")")[2].split()[0] not in STANDING:
                return False
    return True


def continue_below(root: int) -> None:
    """Let all descendants of a process go on."""
    _send(list(states_below(root)), signal.SIGCONT)


def _send(pids: list[int], number: signal.Signals) -> None:
    for pid in pids:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(pid, number)
