"""Process 1 of a person's sandbox: keeps one interactive shell on a terminal of its own.

Runs inside, with the person's rights, from the standard library alone. The terminal is made here,
so that it has a name inside; its other end goes to the host over the inherited socket, which has
no name that the person could open. A shell that ends is followed by a new one: leaving the shell
does not end the attempt, and jobs in the background live on.

    python -I -S init.py SOCKET_FD SHELL ARGUMENT...
"""

import ctypes
import os
import signal
import socket
import sys
import time

PR_SET_DUMPABLE = 4
SHELL_LASTS_S = 1.0  # a shell that ends sooner is not followed at once
FORK_PATIENCE_S = 2.0
SACRIFICE_FIRST = b"500"  # oom_score_adj: memory runs out for the person's processes first


def main() -> None:
    """Keep a shell running until the host ends the sandbox."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # then a process 1 can't be interrupted
    host = socket.socket(fileno=int(sys.argv[1]))
    host.set_inheritable(False)
    oom = os.open("/proc/self/oom_score_adj", os.O_WRONLY | os.O_CLOEXEC)
    _close_to_others()
    while True:
        began = time.monotonic()
        _reap_until(_start_shell(host, oom, sys.argv[2:]))
        time.sleep(max(0.0, began + SHELL_LASTS_S - time.monotonic()))


def _start_shell(host: socket.socket, oom: int, argv: list[str]) -> int:
    """Start a shell as leader of a terminal, and send the host the terminal's other end."""
    pid, terminal = _fork(oom)
    if pid == 0:
        os.execvp(argv[0], argv)  # noqa: S606
    socket.send_fds(host, [b"t"], [terminal])
    os.close(terminal)
    return pid


def _fork(oom: int) -> tuple[int, int]:
    """Fork even if the person's processes have left no room: then all of them are ended."""
    give_up_at = time.monotonic() + FORK_PATIENCE_S
    os.pwrite(oom, SACRIFICE_FIRST, 0)
    while True:
        try:
            pid, terminal = os.forkpty()
            break
        except OSError:
            if time.monotonic() > give_up_at:
                os.kill(-1, signal.SIGKILL)  # from process 1: everything here but itself
                give_up_at += FORK_PATIENCE_S
            _reap()
            time.sleep(0.05)
    if pid != 0:
        os.pwrite(oom, b"0", 0)
    return pid, terminal


def _reap() -> None:
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    except ChildProcessError:
        pass


def _reap_until(shell: int) -> None:
    """Collect ended processes, also the orphans that a process 1 inherits, up to the shell."""
    while os.waitpid(-1, 0)[0] != shell:
        pass


def _close_to_others() -> None:
    """Forbid that processes of the same user trace this one or open its memory and files."""
    if ctypes.CDLL(None, use_errno=True).prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "prctl(PR_SET_DUMPABLE)")


if __name__ == "__main__":
    main()
