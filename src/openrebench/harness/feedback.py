"""What a solver is told of a score: never details, never hidden values."""

from collections.abc import Iterable

from openrebench.core.card import TaskCard
from openrebench.core.reading import normalised
from openrebench.core.result import Outcome
from openrebench.core.score_log import ScoreEntry

ANOTHER_MACHINE = "both timed on another machine of this name"


def describe(card: TaskCard, profile: str, device: str, entry: ScoreEntry) -> str:
    """Say how a score call went, in one or two lines."""
    if entry.outcome is Outcome.INVALID:
        return f"invalid ({entry.reason}): {entry.message}"
    if entry.outcome is Outcome.ERROR:
        return f"error: {entry.message}"
    if not card.score.visible:
        return f"scored: the submission is valid; {entry.message}"
    scaled = _scaled(card, profile, device, entry)
    return f"scored: {entry.raw} {entry.unit}{scaled}\n{entry.message}"


def _scaled(card: TaskCard, profile: str, device: str, entry: ScoreEntry) -> str:
    value, note = normalised(card, profile, entry.raw, device)
    if value is None:
        return ""
    whose = f"; {ANOTHER_MACHINE}" if note else ""
    return f", normalised {value:.3f} (start 0, reference 1{whose})"


def describe_log(card: TaskCard, profile: str, device: str, entries: Iterable[ScoreEntry]) -> str:
    """List all score calls, one line each."""
    lines = []
    for entry in entries:
        what = describe(card, profile, device, entry).partition("\n")[0]
        start = " (starting solution)" if entry.seq == 0 else ""
        lines.append(f"#{entry.seq} at {entry.requested_at_s:.0f} s{start}: {what}")
    return "\n".join(lines) or "no scores yet"
