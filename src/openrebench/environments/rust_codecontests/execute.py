"""Runs in the judge's sandbox: gives a program one input after the other and keeps what it prints.

Standard library only; called as `python execute.py`. Beside it lie `main`, `limits.json` and the
inputs. No expected output ever comes here, so the most that a program can forge is its own output.
"""

import ctypes
import json
import os
import resource
import select
import signal
import subprocess
import time
from pathlib import Path

PR_SET_CHILD_SUBREAPER = 36
CLEAN_UP_S = 2.0
CHUNK = 1 << 16
HERE = Path(__file__).resolve().parent


def main() -> None:
    """Run the inputs, in most cases until one fails; write outputs and a report."""
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    limits = json.loads((HERE / "limits.json").read_text())
    report = []
    for path in sorted((HERE / "inputs").iterdir()):
        row, output = run_once(path, limits)
        clean_up()
        (HERE / "outputs" / path.name).write_bytes(output)
        report.append(row)
        (HERE / "report.json").write_text(json.dumps(report))
        if row["end"] != "ok" and not limits["all_tests"]:
            break


def run_once(path: Path, limits: dict[str, float]) -> tuple[dict[str, object], bytes]:
    """Run the program on one input; says how it ended, and what it printed."""
    try:
        with path.open("rb") as file:
            process = subprocess.Popen(
                [str(HERE / "main")],
                stdin=file,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                cwd="/",
                env={},
                start_new_session=True,
                preexec_fn=lambda: set_limits(limits),
            )
    except OSError:
        return {"end": "crashed", "cpu_s": 0.0}, b""
    assert process.stdout is not None
    output, problem = read_output(process.stdout.fileno(), limits)
    if problem:
        kill_group(process.pid)
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    cpu_s = used.ru_utime + used.ru_stime
    if not problem:
        problem = verdict(process.returncode, cpu_s, limits)
    return {
        "end": problem or "ok",
        "text": str(process.returncode),
        "cpu_s": round(cpu_s, 3),
    }, output


def set_limits(limits: dict[str, float]) -> None:
    """Cap the program's processor time, memory and files."""
    cpu_s = int(limits["cpu_s"]) + 1
    resource.setrlimit(resource.RLIMIT_CPU, (cpu_s, cpu_s))
    memory = int(limits["memory_bytes"])
    resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))


def read_output(fd: int, limits: dict[str, float]) -> tuple[bytes, str]:
    """Read until the program closes its output; gives a word if a limit was passed before."""
    output = bytearray()
    deadline = time.monotonic() + limits["wall_s"]
    while True:
        left = deadline - time.monotonic()
        if left <= 0 or not select.select([fd], [], [], left)[0]:
            return bytes(output), "too_slow"
        chunk = os.read(fd, CHUNK)
        if not chunk:
            return bytes(output), ""
        output += chunk
        if len(output) > limits["output_bytes"]:
            return bytes(output[: int(limits["output_bytes"])]), "too_much_output"


def verdict(returncode: int, cpu_s: float, limits: dict[str, float]) -> str:
    """Name what was wrong with a program that has ended; empty if nothing."""
    if cpu_s > limits["cpu_s"] or returncode == -signal.SIGXCPU:
        return "too_slow"
    return "" if returncode == 0 else "crashed"


def kill_group(pid: int) -> None:
    """Kill a program and what stayed in its session."""
    try:
        os.killpg(pid, signal.SIGKILL)
    except ProcessLookupError:
        pass


def clean_up() -> None:
    """Kill what the program left running: orphans become our children."""
    deadline = time.monotonic() + CLEAN_UP_S
    me = os.getpid()
    while time.monotonic() < deadline:
        try:
            children = Path(f"/proc/{me}/task/{me}/children").read_text().split()
        except OSError:
            return
        if not children:
            return
        for pid in children:
            try:
                os.kill(int(pid), signal.SIGKILL)
                os.waitpid(int(pid), os.WNOHANG)
            except (ProcessLookupError, ChildProcessError):
                pass


if __name__ == "__main__":
    main()
