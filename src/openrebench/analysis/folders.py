"""Read folders of attempts into a table."""

import json
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import NamedTuple

from openrebench.analysis.errors import TableError
from openrebench.analysis.table import Attempts, from_rows
from openrebench.core.anchors import Anchors, load_anchors
from openrebench.core.attempt import AttemptRecord, StoredAttempt, find_attempts, read_attempt
from openrebench.core.card import TaskCard
from openrebench.core.catalog import find_card
from openrebench.core.rescoring import read_rescore
from openrebench.core.result import Outcome
from openrebench.core.scale import ScoreScale
from openrebench.core.score_log import ScoreEntry, best_at, last_at
from openrebench.errors import AnchorsMissing
from openrebench.isolation.runner import IsolationMode

NOT_SETTINGS = ("seed",)  # differs between attempts of one solver


class _Setting(NamedTuple):
    """Card and scale of an environment, version, profile and device."""

    card: TaskCard
    scale: ScoreScale | None
    anchors: str


def read_folders(folders: Iterable[Path]) -> Attempts:
    """Read all attempts below some folders.

    Raises:
        TableError: A folder holds no attempt, or one attempt is there twice.
        AttemptError: An attempt is damaged.
        UnknownEnvironment: An attempt is at an environment that is not installed.
    """
    paths: list[Path] = []
    for folder in folders:
        found = sorted(find_attempts(folder))
        if not found:
            raise TableError(
                f"{folder}: holds no attempt; "
                f"make one with: re-bench run prefix_sum --attempts-dir {folder}"
            )
        paths += found
    stored = [read_attempt(path) for path in paths]
    rows = [_row(attempt) for attempt in stored]
    return from_rows(rows, [_entries(attempt) for attempt in stored])


def isolation_class(mode: str) -> str:
    """Sort isolation modes into those whose scores may be compared.

    Example:
        >>> isolation_class("bubblewrap") == isolation_class("bubblewrap+cgroup")
        True
        >>> isolation_class("subprocess")
        'subprocess'
    """
    weak = IsolationMode.SUBPROCESS.value
    return weak if mode == weak else "isolated"


def solver_label(record: AttemptRecord) -> str:
    """Name a solver: humans are one, agents by name, version, model and settings."""
    solver = record.solver
    if solver.kind == "human":
        return "human"
    model = "" if solver.model in ("", "none", "none/none") else f" / {solver.model}"
    settings = {k: v for k, v in solver.settings.items() if k not in NOT_SETTINGS}
    detail = "".join(f" {key}={_short(value)}" for key, value in sorted(settings.items()))
    return f"{solver.name}{model}{detail}"


def _short(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, sort_keys=True)


def _row(attempt: StoredAttempt) -> dict[str, object]:
    record, usage = attempt.record, attempt.record.usage
    card, scale, anchors = _setting(
        record.environment, record.environment_version, record.profile, record.device
    )
    entry = _counting(card, attempt.entries, scale)
    again = read_rescore(attempt.folder)
    ended = record.ended or ("running" if attempt.running else "interrupted")
    working_s = max([usage.working_s, *(entry.requested_at_s for entry in attempt.entries)])
    return {
        "attempt": record.id,
        "environment": record.environment,
        "version": record.environment_version,
        "profile": record.profile,
        "anchors": anchors,
        "isolation": isolation_class(record.isolation),
        "stand_in": _stand_in(attempt),
        "source": "own",
        "solver": solver_label(record),
        "kind": record.solver.kind,
        "counts": card.score.counts,
        "budget_s": record.time_budget_s,
        "length_s": _length_s(record.time_budget_s, ended, working_s),
        "working_s": working_s,
        "ended": ended,
        "unit": card.score.unit,
        "raw": entry.raw if entry else None,
        "score": _clipped(scale, entry.raw if entry else None, scored=True),
        "official": _clipped(scale, again.official_raw, scored=True) if again else None,
        "flags": "; ".join(sorted({flag for e in attempt.entries for flag in e.flags})),
        "marks": "; ".join(again.flags) if again else "",
        "left_out": _left_out(ended, anchors),
        "score_calls": len(attempt.entries),
        "input_tokens": usage.input_tokens,
        "output_tokens": usage.output_tokens,
        "cost_usd": usage.cost_usd,
        "gpu_s": usage.gpu_s,
        "has_log": True,
    }


@cache
def _setting(environment: str, version: str, profile: str, device: str) -> _Setting:
    card = find_card(environment)
    try:
        anchors: Anchors = load_anchors(
            card.model_copy(update={"version": version}), profile, device
        )
    except AnchorsMissing:
        return _Setting(card, None, "")
    return _Setting(card, anchors.scale(card), f"{card.id}@{version}/{profile}-{device}")


def _counting(
    card: TaskCard, entries: tuple[ScoreEntry, ...], scale: ScoreScale | None
) -> ScoreEntry | None:
    """The entry that is the attempt's score. Without anchors any scale has the direction."""
    if card.score.counts == "last":
        return last_at(entries, float("inf"))
    return best_at(entries, scale or card.score.scale(1.0, 2.0), float("inf"))


def _clipped(scale: ScoreScale | None, raw: float | None, *, scored: bool) -> float | None:
    if scale is None:
        return None
    return max(0.0, scale.normalize(raw)) if raw is not None and scored else 0.0


def _length_s(budget_s: float | None, ended: str, working_s: float) -> float:
    """An attempt that used its budget, or gave it back, has data for all of it."""
    whole = ended in ("budget", "submitted") and budget_s is not None
    return budget_s if whole and budget_s is not None else working_s


def _stand_in(attempt: StoredAttempt) -> str:
    words: Mapping[str, object] = attempt.record.limits
    named = words.get("stand_in")
    return str(named) if named else ""


def _left_out(ended: str, anchors: str) -> str:
    if ended == "error":
        return "ended in our error"
    if ended == "running":
        return "still running"
    return "" if anchors else "no anchors for its device"


def _entries(attempt: StoredAttempt) -> list[dict[str, object]]:
    record = attempt.record
    scale = _setting(
        record.environment, record.environment_version, record.profile, record.device
    ).scale
    return [
        {
            "at_s": entry.requested_at_s,
            "outcome": str(entry.outcome),
            "raw": entry.raw,
            "score": scale.normalize(entry.raw)
            if scale and entry.outcome is Outcome.SCORED and entry.raw is not None
            else None,
        }
        for entry in attempt.entries
    ]
