"""Find out which isolation modes hold on this machine, by trying to break them."""

import os
import socket
import tempfile
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from openrebench.errors import RunnerUnavailable
from openrebench.isolation import box
from openrebench.isolation.layout import BoxSpec
from openrebench.isolation.runner import IsolationMode, Limits

PROBE = Path(__file__).with_name("probe_inside.py")
LIMITS = Limits(memory_bytes=256 << 20, processes=16, tmp_bytes=1 << 20)
TIMEOUT_S = 20.0
ADVICE = "run `apt-get install bubblewrap`, or `make setup`"

WEAKER = {
    IsolationMode.BUBBLEWRAP_CGROUP: (),
    IsolationMode.BUBBLEWRAP: (
        "memory is capped for each process, not for all of them together",
        "a worker is frozen by signals, one process after the other",
    ),
    IsolationMode.LANDLOCK: (
        "names, sizes and dates of files outside can be seen, though not their contents",
        "process ids of others can be seen",
        "the folder for temporary files has no size limit",
    ),
    IsolationMode.SUBPROCESS: (
        "nothing keeps a submission from files, the network or other processes",
        "scores are not comparable",
    ),
}
SHARED_USER = "a submission runs under the user id of the scorer"


@dataclass(frozen=True, kw_only=True)
class ModeReport:
    """What was found about a mode.

    Args:
        mode: Which.
        available: Whether it can be started and held against what was tried.
        why_not: One sentence if it is not available.
        weaker_in: What it does not protect from that a stronger mode does.
    """

    mode: IsolationMode
    available: bool
    why_not: str | None
    weaker_in: tuple[str, ...]


@cache
def probe_modes() -> tuple[ModeReport, ...]:
    """Try every mode, strongest first. Takes some tenths of a second, once per process."""
    return tuple(_report(mode) for mode in IsolationMode)


def strongest_mode() -> IsolationMode:
    """Give the strongest mode that holds here, never `subprocess`.

    Raises:
        RunnerUnavailable: Only `subprocess` is left.
    """
    reports = [_report_of(m) for m in IsolationMode if m is not IsolationMode.SUBPROCESS]
    for report in reports:
        if report.available:
            return report.mode
    raise RunnerUnavailable(f"submissions can't be isolated here ({reports[0].why_not}); {ADVICE}")


def available_mode(mode: IsolationMode) -> IsolationMode:
    """Give the mode back if it holds here.

    Raises:
        RunnerUnavailable: It does not; says why.
    """
    report = _report_of(mode)
    if not report.available:
        raise RunnerUnavailable(f"isolation mode {mode} does not work here: {report.why_not}")
    return mode


def _report_of(mode: IsolationMode) -> ModeReport:
    return next(report for report in probe_modes() if report.mode is mode)


def _report(mode: IsolationMode) -> ModeReport:
    weaker = WEAKER[mode]
    if os.getuid() != 0:
        weaker = (*weaker, SHARED_USER)
    try:
        broken = _broken_promises(mode)
    except (RunnerUnavailable, OSError) as error:
        return ModeReport(mode=mode, available=False, why_not=str(error), weaker_in=weaker)
    why_not = f"it does not hold: {'; '.join(broken)}" if broken else None
    return ModeReport(mode=mode, available=not broken, why_not=why_not, weaker_in=weaker)


def _broken_promises(mode: IsolationMode) -> list[str]:
    """Start a box in which a program tries to get out, and say what it reached."""
    with tempfile.NamedTemporaryFile("w", prefix="openrebench-canary-") as file, _listener() as tcp:
        os.chmod(file.name, 0o644)  # mode bits must not be what protects it
        attempts = [file.name, str(tcp.getsockname()[1]), str(os.getpid())]
        code, said = _run(mode, attempts)
    if b"tried" not in said or code != 0:
        last = said.decode("utf-8", "replace").strip().rpartition("\n")[2]
        raise RunnerUnavailable(f"the worker environment does not run in it: {last or code}")
    if mode is IsolationMode.SUBPROCESS:
        return []
    return [sentence for word, sentence in PROMISES.items() if word.encode() in said.splitlines()]


PROMISES = {
    "canary": "a file outside was read",
    "network": "a port of this machine was reached",
    "memory": "the memory of a process outside was opened",
    "signal": "a process outside could be signalled",
}


def _run(mode: IsolationMode, attempts: list[str]) -> tuple[int | None, bytes]:
    argv = ("python", "-I", "-S", "-c", PROBE.read_text(), *attempts)
    running = box.start(BoxSpec(argv=argv, mode=mode, limits=LIMITS))
    try:
        code = running.wait(TIMEOUT_S)
    finally:
        running.kill()  # raises if the daemon it left behind survives
    return code, running.output


def _listener() -> socket.socket:
    tcp = socket.socket()
    tcp.bind(("127.0.0.1", 0))
    tcp.listen(1)
    return tcp
