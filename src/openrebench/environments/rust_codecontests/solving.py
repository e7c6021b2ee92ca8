"""Let a scaffold solve problems in a sandbox, with nothing but a broker's socket to the outside."""

import json
import shutil
import tempfile
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import NamedTuple

from pydantic import JsonValue

from openrebench.core.card import Profile
from openrebench.environments.rust_codecontests import drive
from openrebench.environments.rust_codecontests.problems import Problem
from openrebench.errors import InvalidSubmission, Reason
from openrebench.isolation import snapshot
from openrebench.isolation.runner import IsolationMode, Runner, RunResult

DRIVE = Path(drive.__file__)
MAX_ANSWER_BYTES = 16 << 20
GRACE_S = 10.0  # for the scaffold's end, above the time that it is told
REASONS = {drive.NO_IMPORT: Reason.IMPORT_FAILED, drive.NO_FUNCTION: Reason.WRONG_SHAPE}
Opens = Callable[[Path], AbstractContextManager[object]]


class Answer(NamedTuple):
    """What a scaffold gave for a problem: a program, or a note why there is none. Untrusted."""

    source: str | None
    note: str = ""


def facts(profile: Profile) -> dict[str, JsonValue]:
    """Give what a solver is told about every problem."""
    return {"cpu_limit_s": profile.parameters["cpu_limit_s"]}


def solve(
    submission: Path, runner: Runner, profile: Profile, problems: Sequence[Problem], opens: Opens
) -> list[Answer]:
    """Run a scaffold on problems; those without an answer in time have none.

    Args:
        submission: Files to score.
        runner: Runs them.
        profile: Gives limits and caps.
        problems: In the order in which the scaffold gets them.
        opens: Opens the model's door in the sandbox's folder.

    Raises:
        InvalidSubmission: The scaffold can't be imported, or it ended without a single answer.
    """
    _require(submission, runner)
    with tempfile.TemporaryDirectory(prefix="openrebench-rust-") as scratch:
        workspace = Path(scratch) / "workspace"
        shutil.copytree(submission, workspace)
        shutil.copyfile(DRIVE, workspace / DRIVE.name)
        _check(runner, workspace, profile)
        shutil.rmtree(workspace)
        shutil.copytree(submission, workspace)
        shutil.copyfile(DRIVE, workspace / DRIVE.name)
        (workspace / "answers").mkdir()
        _write_order(workspace / "problems.json", profile, problems)
        with opens(workspace):
            done = _run(runner, workspace, profile, [], profile.limits.call_timeout_s + GRACE_S)
        answers = _answers(workspace, len(problems))
    if all(answer.source is None and not answer.note for answer in answers):
        raise _no_answer(done, profile)
    return answers


def _require(submission: Path, runner: Runner) -> None:
    if not (submission / "solve.py").is_file():
        raise InvalidSubmission(Reason.MISSING_FILE, "the submission has no solve.py")
    if runner.mode is IsolationMode.LANDLOCK:
        raise RuntimeError(
            "rust_codecontests needs an isolation mode with sockets: bubblewrap, not landlock"
        )


def _write_order(path: Path, profile: Profile, problems: Sequence[Problem]) -> None:
    order = {
        "parallel": profile.parameters["parallel"],
        "timeout_s": profile.limits.call_timeout_s,
        "problems": [problem.stripped(**facts(profile)) for problem in problems],
    }
    path.write_text(json.dumps(order), encoding="utf-8")


def _check(runner: Runner, workspace: Path, profile: Profile) -> None:
    """Import the scaffold once, so that what is wrong with it is told at once."""
    timeout_s = profile.limits.load_timeout_s
    done = _run(runner, workspace, profile, ["check"], timeout_s)
    said = _text(done)
    if done.timed_out:
        message = f"importing solve.py takes more than {timeout_s:g} s"
        raise InvalidSubmission(Reason.TIMED_OUT, message)
    if done.returncode in REASONS:
        raise InvalidSubmission(REASONS[done.returncode], said)
    if done.returncode != 0:
        raise InvalidSubmission(Reason.CRASHED, f"importing solve.py ended the process: {said}")


def _run(
    runner: Runner, workspace: Path, profile: Profile, arguments: list[str], timeout_s: float
) -> RunResult:
    limits = profile.limits.model_copy(update={"call_timeout_s": timeout_s})
    command = ["python", "-B", DRIVE.name, *arguments]
    return runner.run(command, workspace=workspace, limits=limits)


def _answers(workspace: Path, count: int) -> list[Answer]:
    """Read the answers back."""
    try:
        files = snapshot.take(workspace, ["answers/*"], MAX_ANSWER_BYTES).files
    except InvalidSubmission as error:
        if error.reason is not Reason.MISSING_FILE:
            message = f"all answers together are larger than {MAX_ANSWER_BYTES} bytes"
            raise InvalidSubmission(error.reason, message) from error
        files = {}
    texts = {name: content.decode("utf-8", "replace") for name, content in files.items()}
    return [
        Answer(texts.get(f"answers/{k:04d}.rs"), texts.get(f"answers/{k:04d}.txt", ""))
        for k in range(count)
    ]


def _no_answer(done: RunResult, profile: Profile) -> InvalidSubmission:
    if done.out_of_memory:
        memory = profile.limits.memory_bytes
        message = f"the scaffold used more than {memory} bytes of memory"
        return InvalidSubmission(Reason.OUT_OF_MEMORY, message)
    if done.too_much_output:
        message = f"the scaffold printed more than {profile.limits.output_bytes} bytes"
        return InvalidSubmission(Reason.RULE_BROKEN, message)
    if done.timed_out or done.returncode == 0:
        message = f"no problem was answered within {profile.limits.call_timeout_s:g} s"
        return InvalidSubmission(Reason.TIMED_OUT, message)
    return InvalidSubmission(Reason.CRASHED, f"the scaffold ended without an answer: {_text(done)}")


def _text(done: RunResult) -> str:
    """Give the end of what was printed, in one line."""
    return " ".join(done.output.decode("utf-8", "replace").split())[-drive.NOTE_CHARACTERS :]
