"""Start one sandbox, and end it so that nothing is left.

The lowest layer: scoring workers, plain runs and long-lived agent sandboxes are all boxes.
"""

import contextlib
import os
import select
import signal
import socket
import subprocess
import threading
from pathlib import Path

from openrebench.errors import RunnerUnavailable
from openrebench.isolation.layout import BoxSpec
from openrebench.isolation.output import Drain
from openrebench.isolation.processes import continue_below, states_below, stop_below
from openrebench.isolation.runner import IsolationMode
from openrebench.isolation.spawn import Parts, spawn, translate

END_TIMEOUT_S = 15.0
STOP_TIMEOUT_S = 5.0  # a process must get a core once to stand still
SIGNALLED = 128  # both bubblewrap and our supervisor report 128 + signal


class Box:
    """A running sandbox, made by `start`."""

    def __init__(self, parts: Parts, spec: BoxSpec) -> None:
        self._parts = parts
        self._strict = spec.mode is not IsolationMode.SUBPROCESS
        self._lock = threading.Lock()
        self._closed = False
        self._signalled = False
        self._out_of_memory = False
        self._drain: Drain | None = None
        if parts.output is not None:
            self._drain = Drain(parts.output, spec.limits.output_bytes, self._strike)

    @property
    def pid(self) -> int:
        """The sandbox's outermost process, as this side sees it."""
        return self._parts.process.pid

    @property
    def uid(self) -> int:
        """User id of everything in it, as this side sees it."""
        return os.getuid() if self._parts.uid is None else self._parts.uid

    @property
    def output(self) -> bytes:
        """Captured standard output and error so far, cut at the limit. Untrusted."""
        return self._drain.kept if self._drain else b""

    @property
    def flooded(self) -> bool:
        """Whether it was ended because it printed more than its limit."""
        return self._drain is not None and self._drain.flooded

    @property
    def out_of_memory(self) -> bool:
        """Whether the kernel killed anything in it for its memory limit, as far as is known."""
        cgroup = self._parts.cgroup
        if not self._closed and cgroup is not None:
            self._out_of_memory = self._out_of_memory or cgroup.out_of_memory()
        return self._out_of_memory

    def place(self, path: str) -> str:
        """Give a path inside as the command itself has to write it in this mode."""
        return translate(path, self._parts.places)

    def wait(self, timeout_s: float | None = None) -> int | None:
        """Wait for the command to end.

        Returns:
            Exit status, negative signal number if killed by one, or None if it still runs.
        """
        try:
            code = self._parts.process.wait(timeout_s)
        except subprocess.TimeoutExpired:
            return None
        return SIGNALLED - code if code > SIGNALLED else code

    def freeze(self) -> bool:
        """Stop everything in it; tells whether all of it stands still.

        By its control group; by signals where there is none, or none that can do it.
        """
        if self._parts.cgroup is not None and self._parts.cgroup.freeze(STOP_TIMEOUT_S):
            return True
        self._signalled = True
        return stop_below(self.pid, STOP_TIMEOUT_S)

    def thaw(self) -> None:
        """Let it go on."""
        if self._signalled:
            self._signalled = False
            continue_below(self.pid)
        if self._parts.cgroup is not None:
            self._parts.cgroup.thaw()

    def counted_cpu_ns(self) -> int | None:
        """CPU time of all that ever ran in it, or None where no control group counts it."""
        return self._parts.cgroup.cpu_ns() if self._parts.cgroup else None

    def cpu_ns(self) -> int:
        """CPU time used by what is in it now."""
        counted = self.counted_cpu_ns()
        return _cpu_ns_of_tree(self.pid) if counted is None else counted

    def kill(self) -> None:
        """End everything in it, daemons included, and remove what it used. May be repeated.

        Raises:
            RunnerUnavailable: Something in it could not be ended.
        """
        with self._lock:
            if self._closed:
                return
            self._strike()
            gone = self._reaped() or not self._strict
            self._out_of_memory = self.out_of_memory
            self._closed = True
            if self._parts.cgroup is not None:
                gone = self._parts.cgroup.close() and gone
            if self._drain is not None:
                self._drain.finish()
            self._release()
        if not gone:
            raise RunnerUnavailable(f"a process of the sandbox {self.pid} could not be ended")

    def _strike(self) -> None:
        """Send the kill without waiting; safe from any thread."""
        parts = self._parts
        with contextlib.suppress(OSError):
            if parts.cgroup is not None:
                parts.cgroup.kill()
        with contextlib.suppress(OSError):
            if parts.init_fd is not None:
                parts.process.kill()
                signal.pidfd_send_signal(parts.init_fd, signal.SIGKILL)
        with contextlib.suppress(OSError):
            if parts.control is not None:
                parts.control.shutdown(socket.SHUT_WR)

    def _reaped(self) -> bool:
        """Wait until the processes are gone; tell whether all of them are."""
        try:
            self._parts.process.wait(END_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            self._parts.process.kill()
            return False
        if self._parts.control is not None:
            return self._parts.control.recv(8) == b"gone"
        assert self._parts.init_fd is not None
        return bool(select.select([self._parts.init_fd], [], [], END_TIMEOUT_S)[0])

    def _release(self) -> None:
        if self._parts.control is not None:
            self._parts.control.close()
        if self._parts.init_fd is not None:
            os.close(self._parts.init_fd)


def start(spec: BoxSpec) -> Box:
    """Start a command in a sandbox.

    Raises:
        RunnerUnavailable: The sandbox could not be built; says why.
    """
    return Box(spawn(spec), spec)


def _cpu_ns_of_tree(root: int) -> int:
    """Sum the time on CPUs of a process and its descendants, as the scheduler counts it."""
    return sum(_cpu_ns(pid) for pid in (root, *states_below(root)))


def _cpu_ns(pid: int) -> int:
    total = 0
    for thread in Path("/proc", str(pid), "task").glob("*/schedstat"):
        with contextlib.suppress(OSError):
            total += int(thread.read_text().split()[0])
    return total
