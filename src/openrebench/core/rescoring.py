"""The official score of an attempt: its best submissions run again with fresh secrets.

A score log keeps the best of many noisy draws. Running the best few submissions again, several
times each, and taking medians removes that luck. An environment that keeps a final split measures
on that one, so that what was fitted to the score split by asking often does not count. Written
beside the attempt, which stays as it is.
"""

from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Literal

from pydantic import BaseModel, ConfigDict

from openrebench.core.attempt import StoredAttempt
from openrebench.core.environment import Environment
from openrebench.core.result import Outcome, ScoreResult
from openrebench.core.scale import ScoreScale
from openrebench.core.score_log import ScoreEntry
from openrebench.core.scoring import score_submission
from openrebench.errors import AttemptError
from openrebench.isolation.runner import Runner

TOP, RUNS = 3, 3
DROP_FLAG = 0.10
FILE_NAME = "rescore.json"


class Rescored(BaseModel):
    """One submission run again.

    Attributes:
        logged_raw: Best raw score the attempt's own log has for it.
        raws: Raw scores of the valid fresh runs.
        median_raw: Their median; None if no run, or fewer than half of them, was valid.
        problems: Messages of the runs that were not valid.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    submission: str
    logged_raw: float
    raws: tuple[float, ...]
    median_raw: float | None
    problems: tuple[str, ...]


class Rescore(BaseModel):
    """The official score of an attempt; `official_raw` is None if nothing valid was left.

    Attributes:
        split: The hidden split that was measured on: `final` where the environment has one.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    attempt: str
    unit: str
    split: Literal["score", "final"] = "score"
    candidates: tuple[Rescored, ...]
    official_raw: float | None
    flags: tuple[str, ...] = ()


def rescore(
    attempt: StoredAttempt,
    environment: Environment,
    runner: Runner,
    scale: ScoreScale,
    *,
    final_scale: ScoreScale | None = None,
    on_run: Callable[[ScoreResult], None] = lambda _: None,
) -> Rescore:
    """Run an attempt's best submissions again and write `rescore.json` beside its log.

    Args:
        attempt: A finished or interrupted attempt.
        environment: The attempt's environment, at the attempt's version.
        runner: Runs the submissions.
        scale: Tells which scores are better.
        final_scale: The same for fresh runs, where the final split has anchors of its own.
        on_run: Told each fresh result.

    Raises:
        AttemptError: The environment's version is not the attempt's, the attempt is still
            running, or a logged submission is missing.
    """
    _check(attempt, environment)
    found = []
    for entry in _candidates(attempt, environment, scale):
        folder = attempt.folder / "submissions" / entry.submission
        if not folder.is_dir():
            raise AttemptError(f"{folder}: is missing; the attempt can't be scored again")
        results = []
        for _ in range(RUNS):
            profile = attempt.record.profile
            results.append(score_submission(environment, folder, profile, runner, final=True))
            on_run(results[-1])
        found.append(_summary(entry, results))
    split: Literal["score", "final"] = "final" if environment.has_final_split else "score"
    outcome = _outcome(attempt, found, (scale, final_scale or scale), split)
    path = attempt.folder / FILE_NAME
    path.write_text(outcome.model_dump_json(indent=1) + "\n", encoding="utf-8")
    return outcome


def read_rescore(folder: Path) -> Rescore | None:
    """Read an attempt's official score; None if it was never scored again."""
    path = folder / FILE_NAME
    return Rescore.model_validate_json(path.read_text(encoding="utf-8")) if path.exists() else None


def _check(attempt: StoredAttempt, environment: Environment) -> None:
    record, card = attempt.record, environment.card
    if attempt.running:
        raise AttemptError(f"{attempt.folder}: is still running; wait until it has ended")
    if record.environment_version != card.version:
        raise AttemptError(
            f"{attempt.folder}: was scored by {card.id}@{record.environment_version}, "
            f"this is {card.version}; install that version to score it again"
        )


def _candidates(
    attempt: StoredAttempt, environment: Environment, scale: ScoreScale
) -> list[ScoreEntry]:
    """The best valid entry of each submission, best first; only the last where that counts."""
    valid = [entry for entry in attempt.entries if entry.outcome is Outcome.SCORED]
    if environment.card.score.counts == "last":
        return valid[-1:]
    best: dict[str, ScoreEntry] = {}
    for entry in valid:
        held = best.get(entry.submission)
        if held is None or scale.better(entry.raw or 0.0, held.raw or 0.0):
            best[entry.submission] = entry
    order = sorted(best.values(), key=lambda e: scale.normalize(e.raw or 0.0), reverse=True)
    return order[:TOP]


def _summary(entry: ScoreEntry, results: list[ScoreResult]) -> Rescored:
    raws = [result.raw for result in results if result.raw is not None]
    assert entry.raw is not None
    return Rescored(
        submission=entry.submission,
        logged_raw=entry.raw,
        raws=tuple(raws),
        median_raw=median(raws) if 2 * len(raws) > RUNS else None,
        problems=tuple(r.message for r in results if r.raw is None),
    )


def _outcome(
    attempt: StoredAttempt,
    found: list[Rescored],
    scales: tuple[ScoreScale, ScoreScale],
    split: Literal["score", "final"],
) -> Rescore:
    logged, fresh = scales
    medians = [c.median_raw for c in found if c.median_raw is not None]
    official = max(medians, key=fresh.normalize, default=None)
    flags = [f"not_reproduced: {c.submission[:12]}" for c in found if c.problems]
    if official is not None:
        gap = logged.normalize(found[0].logged_raw) - fresh.normalize(official)
        if gap > DROP_FLAG:
            flags.append(f"drop: official score {gap:.2f} below the best in the log (normalised)")
    unit = attempt.entries[0].unit if attempt.entries else ""
    return Rescore(
        attempt=attempt.record.id,
        unit=unit,
        split=split,
        candidates=tuple(found),
        official_raw=official,
        flags=tuple(flags),
    )
