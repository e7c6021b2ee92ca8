"""Judge programs: compile in one sandbox, run in another, compare on this side.

Each program has sandboxes of its own, so no program can touch another's verdict. Expected
outputs stay here. Outputs are compared line by line: spaces at the ends of lines and empty lines
at the end don't count, everything else does. Verdicts are kept below `$OPENREBENCH_HOME`, by a
hash of source, tests, limits, compiler and this module's version; a verdict that a busy machine
could have caused is not kept.
"""

import hashlib
import json
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from pathlib import Path
from typing import NamedTuple, final

from pydantic import BaseModel, ConfigDict

from openrebench.core.anchors import home
from openrebench.environments.rust_codecontests.problems import Case, Problem
from openrebench.errors import InvalidSubmission
from openrebench.isolation import snapshot
from openrebench.isolation.runner import Limits, Runner, RunResult

VERSION = 1
COMPILER = "rustc"
FLAGS = (
    *("--edition", "2018", "--crate-type", "bin", "--crate-name", "main", "-A", "warnings"),
    *("-C", "opt-level=1", "-C", "codegen-units=1", "-C", "prefer-dynamic"),
)
COMPILE_LIMITS = Limits(
    call_timeout_s=20, memory_bytes=2 << 30, processes=32, output_bytes=64 << 10
)
MAX_SOURCE_BYTES = 64 << 10
PROCESSES = 4  # at a time, threads included; more would only make the machine busy
MAX_BINARY_BYTES = 32 << 20
EXECUTE = Path(__file__).with_name("execute.py")
MESSAGE_CHARACTERS = 400
MISSING = (
    "needs rustc, and a linker: apt-get install --no-install-recommends rustc (1.63 or newer), "
    "where every user can reach it"
)


class Kind(StrEnum):
    """What became of a program."""

    ACCEPTED = "accepted"
    COMPILE_ERROR = "compile_error"
    WRONG_ANSWER = "wrong_answer"
    CRASHED = "crashed"
    TOO_SLOW = "too_slow"
    TOO_MUCH_OUTPUT = "too_much_output"


class CaseLimits(BaseModel):
    """Limits of a program on one test.

    Attributes:
        cpu_s: Processor seconds.
        wall_s: Seconds of the clock; far more, since a busy machine is not the program's fault.
        memory_bytes: Address space.
        output_bytes: What it may print.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")
    cpu_s: float = 2.0
    wall_s: float = 10.0
    memory_bytes: int = 512 << 20
    output_bytes: int = 1 << 20


class Verdict(BaseModel):
    """What became of a program on a problem's tests.

    Attributes:
        test: Number of the first test that failed, from 0; None if none did.
        note: Compiler's message or how the program ended. Untrusted.
        cpu_s: The most processor seconds on one test.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    kind: Kind
    test: int | None = None
    note: str = ""
    cpu_s: float = 0.0


class Run(NamedTuple):
    """One test as it went: `end` is `ok` or the name of a `Kind`."""

    end: str
    output: bytes
    cpu_s: float


@dataclass(frozen=True)
class Built:
    """What the compiler made: a binary, or a message; `sure` unless a busy machine may be why."""

    binary: bytes | None
    message: str
    sure: bool = True


@final
class Judge:
    """Compiles, runs and compares; remembers verdicts.

    Args:
        runner: Runs compiler and programs.
        limits: Of each test.
        memory: Folder of verdicts; below `$OPENREBENCH_HOME` if None.
    """

    def __init__(
        self, runner: Runner, limits: CaseLimits | None = None, memory: Path | None = None
    ) -> None:
        self._runner, self.limits = runner, limits or CaseLimits()
        self._memory = home() / "rust_codecontests" / "verdicts" if memory is None else memory

    def judge_all(self, programs: Sequence[tuple[Problem, str]]) -> list[Verdict]:
        """Judge programs side by side, as many as there are processors."""
        with ThreadPoolExecutor(max(1, min(8, os.cpu_count() or 1))) as pool:
            return list(pool.map(lambda pair: self.judge(*pair), programs))

    def judge(self, problem: Problem, source: str) -> Verdict:
        """Judge one program on all tests of a problem."""
        path = self._path(problem, source)
        if path.is_file():
            return Verdict.model_validate_json(path.read_bytes())
        verdict, sure = self._judge(source, problem.tests)
        if sure:
            _write(path, verdict.model_dump_json())
        return verdict

    def build(self, source: str) -> Built:
        """Compile a program in a sandbox of its own."""
        data = source.encode("utf-8", "replace")
        if len(data) > MAX_SOURCE_BYTES:
            return Built(None, f"the program has {len(data)} bytes; it may have {MAX_SOURCE_BYTES}")
        with _workspace() as workspace:
            (workspace / "main.rs").write_bytes(data)
            command = [COMPILER, *FLAGS, "main.rs", "-o", "main"]
            done = self._runner.run(command, workspace=workspace, limits=COMPILE_LIMITS)
            binary = _binary(workspace) if done.returncode == 0 else None
            return Built(binary, _said(done), sure=not done.timed_out)

    def run(self, binary: bytes, inputs: Sequence[str], *, all_tests: bool = False) -> list[Run]:
        """Run a program on inputs in a sandbox of its own, up to the first that fails or on all."""
        with _workspace() as workspace:
            for folder in ("inputs", "outputs"):
                (workspace / folder).mkdir()
            for number, text in enumerate(inputs):
                (workspace / "inputs" / f"{number:04d}").write_text(text)
            limits = {**self.limits.model_dump(), "all_tests": all_tests}
            (workspace / "limits.json").write_text(json.dumps(limits))
            (workspace / "main").write_bytes(binary)
            (workspace / "main").chmod(0o755)
            shutil.copyfile(EXECUTE, workspace / EXECUTE.name)
            self._runner.run(
                ["python", EXECUTE.name],
                workspace=workspace,
                limits=self._box_limits(len(inputs)),
            )
            return _runs(workspace, len(inputs) * self.limits.output_bytes)

    def _judge(self, source: str, tests: Sequence[Case]) -> tuple[Verdict, bool]:
        """Judge without looking anything up; tells too whether the verdict is sure."""
        built = self.build(source)
        if built.binary is None:
            verdict = Verdict(kind=Kind.COMPILE_ERROR, note=built.message[:MESSAGE_CHARACTERS])
            return verdict, built.sure
        runs = self.run(built.binary, [test.input for test in tests])
        verdict = compare(runs, tests)
        busy = verdict.kind is Kind.TOO_SLOW and verdict.cpu_s < self.limits.cpu_s
        return verdict, not busy and (len(runs) > 0 or verdict.kind is not Kind.CRASHED)

    def _box_limits(self, tests: int) -> Limits:
        return Limits(
            call_timeout_s=10 + tests * self.limits.wall_s / 4,
            memory_bytes=self.limits.memory_bytes + (512 << 20),
            processes=PROCESSES,
            output_bytes=1 << 16,
        )

    def _path(self, problem: Problem, source: str) -> Path:
        facts = (VERSION, FLAGS, compiler_version(), self.limits.model_dump_json())
        text = repr((*facts, problem.digest, source))
        name = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
        return self._memory / name[:2] / f"{name}.json"


def compare(runs: Sequence[Run], tests: Sequence[Case]) -> Verdict:
    """Find the first test that did not end well or gave another output than expected."""
    most = max((run.cpu_s for run in runs), default=0.0)
    for number, test in enumerate(tests):
        if number >= len(runs):
            return Verdict(kind=Kind.CRASHED, test=number, note="no result", cpu_s=most)
        run = runs[number]
        if run.end != "ok":
            return Verdict(kind=Kind(run.end), test=number, cpu_s=most)
        if not same_output(run.output, test.output):
            return Verdict(kind=Kind.WRONG_ANSWER, test=number, cpu_s=most)
    return Verdict(kind=Kind.ACCEPTED, cpu_s=most)


def same_output(output: bytes, expected: str) -> bool:
    r"""Compare outputs but for spaces at line ends and empty lines at the end.

    Example:
        >>> same_output(b"1 2 \n3\n\n", "1 2\n3"), same_output(b"1  2\n3", "1 2\n3")
        (True, False)
    """
    return _lines(output) == _lines(expected.encode())


@cache
def compiler_version() -> str:
    """Give the compiler's version, or an empty text where no sandbox would find one."""
    path = shutil.which(COMPILER, path="/usr/bin:/bin")
    linker = shutil.which("cc", path="/usr/bin:/bin")
    if path is None or linker is None:
        return ""
    done = subprocess.run(
        [path, "--version"], capture_output=True, text=True, env={"PATH": "/usr/bin:/bin"}
    )
    return done.stdout.strip()


def _lines(output: bytes) -> list[bytes]:
    return b"\n".join(line.rstrip() for line in output.split(b"\n")).rstrip().split(b"\n")


@contextmanager
def _workspace() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="openrebench-judge-") as scratch:
        folder = Path(scratch) / "workspace"
        folder.mkdir()
        yield folder


def _binary(workspace: Path) -> bytes | None:
    try:
        return snapshot.take(workspace, ["main"], MAX_BINARY_BYTES).files["main"]
    except InvalidSubmission:
        return None


def _said(done: RunResult) -> str:
    if done.timed_out:
        return "the compiler took too long"
    if done.out_of_memory:
        return "the compiler ran out of memory"
    return done.output.decode("utf-8", "replace")


def _runs(workspace: Path, most_bytes: int) -> list[Run]:
    """Read back how the tests went; what can't be read did not end well."""
    try:
        files = snapshot.take(workspace, ["report.json", "outputs/*"], most_bytes + (1 << 20)).files
        rows = json.loads(files["report.json"])
        return [
            Run(_end(row["end"]), files.get(f"outputs/{k:04d}", b""), float(row["cpu_s"]))
            for k, row in enumerate(rows)
        ]
    except (InvalidSubmission, KeyError, TypeError, ValueError, RecursionError):
        return []


def _end(word: object) -> str:
    return str(word) if word == "ok" or word in set(Kind) else str(Kind.CRASHED)


def _write(path: Path, text: str) -> None:
    """Write a file at once, beside others who may write the same."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, part = tempfile.mkstemp(dir=path.parent, prefix=".part-")
    with os.fdopen(handle, "w") as file:
        file.write(text)
    os.replace(part, path)


def needs_compiler() -> str | None:
    """Say what is missing to judge programs, or give None."""
    return None if compiler_version() else MISSING
