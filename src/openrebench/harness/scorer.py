"""The task's scorer: scores when asked during an attempt, only reads the log when it is over."""

import math
from typing import Any

from inspect_ai.scorer import Score, Scorer, Target, mean, scorer, stderr
from inspect_ai.solver import TaskState

from openrebench.core.anchors import load_anchors
from openrebench.core.reading import counting_entry, normalised
from openrebench.core.scale import ScoreScale
from openrebench.core.score_log import ScoreEntry
from openrebench.errors import AnchorsMissing
from openrebench.harness import live
from openrebench.harness.feedback import describe
from openrebench.harness.live import LiveAttempt

NOT_LOGGED = {"details", "flags"}  # what Inspect's log does not need: it is shared more freely


@scorer(metrics=[mean(), stderr()])
def score_log_scorer() -> Scorer:
    """Score with `core.scoring` and the attempt's score log.

    `state.completed` tells the two uses apart: it is false when a tool, a bridge or an operator
    asks for a score, and true for Inspect's own call at the end. That one must be quick and must
    not score again, since the workspace is not what counts.
    """

    async def score(state: TaskState, target: Target) -> Score:
        if not state.completed:
            attempt = live.current()
            return intermediate_score(attempt, await attempt.score())
        begun = live.find_current()
        if begun is None:
            return Score(value=math.nan, explanation="no attempt was begun")
        return final_score(begun)

    return score


def intermediate_score(attempt: LiveAttempt, entry: ScoreEntry) -> Score:
    """Give an entry as a score; its hash anchors the score log in the transcript."""
    record, card = attempt.attempt.record, attempt.attempt.environment.card
    return Score(
        value=_value(attempt, entry),
        explanation=describe(card, record.profile, record.device, entry),
        metadata=_metadata(attempt, entry),
    )


def final_score(attempt: LiveAttempt) -> Score:
    """Read the entry that counts from the score log."""
    entries = attempt.attempt.log.entries
    entry, value = counting(attempt)
    if entry is None:
        return Score(value=math.nan, explanation=f"none of {len(entries)} score calls was valid")
    return Score(
        value=value,
        explanation=f"score call {entry.seq} of {len(entries)}, at {entry.requested_at_s:.0f} s",
        metadata=_metadata(attempt, entry),
    )


def counting(attempt: LiveAttempt) -> tuple[ScoreEntry | None, float]:
    """Give the entry that counts so far, and its value; NaN, Inspect's "unscored", if none is."""
    card, entries = attempt.attempt.environment.card, attempt.attempt.log.entries
    entry = counting_entry(card, entries, _scale(attempt), math.inf)
    return entry, math.nan if entry is None else _value(attempt, entry)


def _metadata(attempt: LiveAttempt, entry: ScoreEntry) -> dict[str, Any]:
    return {
        "attempt": attempt.attempt.record.id,
        **entry.model_dump(mode="json", exclude=NOT_LOGGED),
        "scale": "normalised" if _has_anchors(attempt) else "raw",
    }


def _value(attempt: LiveAttempt, entry: ScoreEntry) -> float:
    """The normalised score, the raw one without anchors, or NaN if there is none."""
    if entry.raw is None:
        return math.nan
    record, card = attempt.attempt.record, attempt.attempt.environment.card
    value, _ = normalised(card, record.profile, entry.raw, record.device)
    return entry.raw if value is None else value


def _scale(attempt: LiveAttempt) -> ScoreScale:
    record, card = attempt.attempt.record, attempt.attempt.environment.card
    try:
        return load_anchors(card, record.profile, record.device).scale(card)
    except AnchorsMissing:
        return card.score.scale(1.0, 2.0)  # which entry is better needs the direction alone


def _has_anchors(attempt: LiveAttempt) -> bool:
    record, card = attempt.attempt.record, attempt.attempt.environment.card
    try:
        load_anchors(card, record.profile, record.device)
    except AnchorsMissing:
        return False
    return True
