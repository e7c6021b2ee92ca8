"""The one path to a score.

The agent's score tool, the final scorer, the command line, `rescore`, the contract checks and
the tests all call `score_submission`.
"""

import logging
import os
import shutil
import tempfile
import time
import traceback
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from openrebench.core.environment import Environment, Measurement
from openrebench.core.result import Outcome, ScoreResult
from openrebench.core.seed import Seed
from openrebench.errors import InvalidSubmission
from openrebench.isolation import snapshot
from openrebench.isolation.device import exclusive
from openrebench.isolation.runner import Runner
from openrebench.isolation.snapshot import Snapshot

log = logging.getLogger(__name__)
ErrorSink = Callable[[str, str], None]
PREFIX = "openrebench-submission-"


def score_submission(
    environment: Environment,
    folder: Path,
    profile: str,
    runner: Runner,
    *,
    keep: Callable[[Snapshot], None] | None = None,
    on_error: ErrorSink | None = None,
    seed: Seed | None = None,
    final: bool = False,
) -> ScoreResult:
    """Score the files of a submission and say how it went, whatever happens.

    The files are copied first, so that scoring neither changes them nor sees them change.
    Scores on one machine never overlap: a second call waits for the first.

    Args:
        environment: Whose submission it is.
        folder: Workspace holding the submission.
        profile: Size to score at.
        runner: Runs everything of the submission.
        keep: Told the snapshot before it is scored, to store it.
        on_error: Told a short reference and the full text of an error of ours.
        seed: All randomness of the call; drawn from the operating system if None.
        final: Whether this is for an official score, on the final split where there is one.

    Returns:
        A result with one of three outcomes. Only a keyboard interrupt gets through.
    """
    seed = seed or Seed.fresh()
    started = time.monotonic()
    taken: Snapshot | None = None
    try:
        card = environment.card
        taken = snapshot.take(folder, card.submission, card.submission_limit(profile))
        if keep is not None:
            keep(taken)
        with exclusive(), _written(taken) as files:
            measure = environment.score_final if final else environment.score
            measured = measure(files, runner, card.profile(profile), seed=seed)
        verdict = _scored(measured)
    except InvalidSubmission as error:
        verdict = {"outcome": Outcome.INVALID, "reason": error.reason, "message": error.message}
    except Exception as error:  # noqa: BLE001 - the one place where our own faults become an outcome
        verdict = _error(error, on_error or _log_error)
    return ScoreResult.model_validate(
        verdict
        | {
            "unit": environment.card.score.unit,
            "environment": environment.card.label(profile),
            "submission": taken.sha256 if taken else "",
            "seed_commitment": seed.commitment,
            "isolation": str(runner.mode),
            "seconds": time.monotonic() - started,
        }
    )


def _scored(measured: Measurement) -> dict[str, object]:
    return {
        "outcome": Outcome.SCORED,
        "raw": measured.raw,
        "message": measured.message,
        "details": measured.details,
        "flags": measured.flags,
    }


def _error(error: Exception, on_error: ErrorSink) -> dict[str, object]:
    reference = uuid.uuid4().hex[:8]
    on_error(reference, "".join(traceback.format_exception(error)))
    message = (
        "scoring failed on our side and does not count; "
        f"reference {reference} in the attempt's errors.jsonl"
    )
    return {"outcome": Outcome.ERROR, "message": message}


def _log_error(reference: str, text: str) -> None:
    log.error("scoring error %s\n%s", reference, text)


def _remove_orphans() -> None:
    """Remove what scorers that were killed have left."""
    for folder in Path(tempfile.gettempdir()).glob(f"{PREFIX}*-*"):
        pid = folder.name.removeprefix(PREFIX).partition("-")[0]
        if pid.isdigit() and not Path("/proc", pid).exists():
            shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def _written(taken: Snapshot) -> Iterator[Path]:
    _remove_orphans()
    folder = Path(tempfile.mkdtemp(prefix=f"{PREFIX}{os.getpid()}-"))
    try:
        taken.write(folder)
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
