"""Read folders of attempts into a table."""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from openrebench.analysis.errors import TableError
from openrebench.analysis.table import (
    SHIPPED_TIMES,
    Attempts,
    concatenate,
    from_rows,
    read_parquet,
)
from openrebench.core.anchors import load_anchors, of_another_machine
from openrebench.core.attempt import AttemptRecord, StoredAttempt, find_attempts, read_attempt
from openrebench.core.card import TaskCard
from openrebench.core.catalog import find_card
from openrebench.core.rescoring import Rescore, read_rescore
from openrebench.core.scale import ScoreScale
from openrebench.core.score_log import ScoreEntry, best_at, last_at, verify
from openrebench.errors import AnchorsMissing
from openrebench.isolation.runner import IsolationMode

NOT_SETTINGS = ("seed",)  # differs between attempts of one solver


class _Setting(NamedTuple):
    """What an environment, version, profile and device say about scores."""

    card: TaskCard
    scale: ScoreScale | None
    final_scale: ScoreScale | None
    anchors: str
    spread: float | None
    stand_in: str


def read_tables(folders: Iterable[Path]) -> Attempts:
    """Read folders of attempts and folders of imported tables into one table."""
    every = list(folders)
    tables = [f for f in every if (f / "attempts.parquet").is_file()]
    attempts = [f for f in every if f not in tables]
    return concatenate([*map(read_parquet, tables), *([read_folders(attempts)] * bool(attempts))])


def read_folders(folders: Iterable[Path]) -> Attempts:
    """Read all attempts below some folders.

    Raises:
        TableError: A folder holds no attempt, or one attempt is there twice.
        AttemptError: An attempt is damaged.
        UnknownEnvironment: An attempt is at an environment that is not installed.
    """
    stored: list[StoredAttempt] = []
    for folder in folders:
        found = sorted(find_attempts(folder))
        if not found:
            raise TableError(
                f"{folder}: holds no attempt; "
                f"make one with: re-bench run prefix_sum --attempts-dir {folder}"
            )
        stored += [read_attempt(path) for path in found]
    keys = [_key(attempt.record) for attempt in stored]
    settings = {key: _setting(*key) for key in set(keys)}
    paired = [(attempt, settings[key]) for attempt, key in zip(stored, keys, strict=True)]
    return from_rows([_row(*pair) for pair in paired], [_entries(*pair) for pair in paired])


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
    version = f" {solver.version}" if solver.version else ""
    settings = {k: v for k, v in solver.settings.items() if k not in NOT_SETTINGS}
    detail = "".join(f" {key}={_short(value)}" for key, value in sorted(settings.items()))
    return f"{solver.name}{version}{model}{detail}"


def _short(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, sort_keys=True)


def _row(attempt: StoredAttempt, setting: _Setting) -> dict[str, object]:
    record, usage = attempt.record, attempt.record.usage
    entry = _counting(setting, attempt.entries)
    again = read_rescore(attempt.folder)
    ended = record.ended or ("running" if attempt.running else "interrupted")
    working_s = max([usage.working_s, *(entry.requested_at_s for entry in attempt.entries)])
    return {
        "attempt": record.id,
        "environment": record.environment,
        "version": record.environment_version,
        "profile": record.profile,
        "anchors": setting.anchors,
        "anchor_spread": setting.spread,
        "isolation": isolation_class(record.isolation),
        "stand_in": setting.stand_in,
        "budget_rule": _budget_rule(record),
        "source": "own",
        "solver": solver_label(record) + (f" [{setting.stand_in}]" if setting.stand_in else ""),
        "kind": record.solver.kind,
        "model": record.solver.model,
        "counts": setting.card.score.counts,
        "budget_s": record.time_budget_s,
        "length_s": _length_s(record.time_budget_s, ended, working_s),
        "working_s": working_s,
        "ended": ended,
        "unit": setting.card.score.unit,
        "raw": entry.raw if entry else None,
        "score": _clipped(attempt, setting.scale, entry.raw if entry else None),
        "official": _official(attempt, setting, again) if again else None,
        "submission": entry.submission if entry else "",
        "flags": "; ".join(_flags(attempt)),
        "marks": "; ".join(again.flags) if again else "",
        "left_out": _left_out(ended, setting.anchors),
        "score_calls": len(attempt.entries),
        "input_tokens": usage.input_tokens,
        "output_tokens": usage.output_tokens,
        "cost_usd": usage.cost_usd,
        "gpu_s": usage.gpu_s,
        "started_ms": int(record.started_at.timestamp() * 1000),
        "wall_s": usage.wall_s,
        "has_log": True,
    }


def _key(record: AttemptRecord) -> tuple[str, str, str, str]:
    return record.environment, record.environment_version, record.profile, record.device


def _setting(environment: str, version: str, profile: str, device: str) -> _Setting:
    card = find_card(environment)
    parameters = card.profiles[profile].parameters if profile in card.profiles else {}
    stand_in = str(parameters.get("stand_in", ""))
    then = card.model_copy(update={"version": version})
    try:
        anchors = load_anchors(then, profile, device)
    except AnchorsMissing:
        return _Setting(card, None, None, "", None, stand_in)
    label = f"{card.id}@{version}/{profile}-{device}"
    if of_another_machine(then, anchors):
        label += SHIPPED_TIMES
    scales = anchors.scale(card), anchors.scale(card, final=True)
    return _Setting(card, *scales, label, anchors.spread(card), stand_in)


def _counting(setting: _Setting, entries: tuple[ScoreEntry, ...]) -> ScoreEntry | None:
    """The entry that is the attempt's score. Without anchors any scale has the direction."""
    score = setting.card.score
    if score.counts == "last":
        return last_at(entries, float("inf"))
    return best_at(entries, setting.scale or score.scale(1.0, 2.0), float("inf"))


def _official(attempt: StoredAttempt, setting: _Setting, again: Rescore) -> float | None:
    scale = setting.final_scale if again.split == "final" else setting.scale
    return _clipped(attempt, scale, again.official_raw)


def _clipped(attempt: StoredAttempt, scale: ScoreScale | None, raw: float | None) -> float | None:
    """Normalised and not below 0; an attempt without a valid entry has 0, never nothing."""
    if scale is None:
        return None
    return max(0.0, _normalised(attempt, scale, raw) or 0.0)


def _normalised(attempt: StoredAttempt, scale: ScoreScale, raw: float | None) -> float | None:
    try:
        return None if raw is None else scale.normalize(raw)
    except ValueError as error:
        raise TableError(
            f"{attempt.folder}: {error}; the environment must not call it a valid score"
        ) from error


def _length_s(budget_s: float | None, ended: str, working_s: float) -> float:
    """An attempt that used its budget, or gave it back, has data for all of it."""
    if budget_s is not None and ended in ("budget", "submitted"):
        return budget_s
    return working_s


def _budget_rule(record: AttemptRecord) -> str:
    """How the budget differs from the published rule, by which scoring uses the solver's time."""
    charged = record.limits.get("charge_scoring", True)
    return "" if charged else "scoring not charged"


def _flags(attempt: StoredAttempt) -> list[str]:
    """Integrity findings: those of the scoring, and a log that was changed."""
    found = {flag for entry in attempt.entries for flag in entry.flags}
    return sorted(found | ({"log_altered"} if verify(attempt.entries) else set()))


def _left_out(ended: str, anchors: str) -> str:
    if ended == "error":
        return "ended in our error"
    if ended == "running":
        return "still running"
    return "" if anchors else "no anchors for its device"


def _entries(attempt: StoredAttempt, setting: _Setting) -> list[dict[str, object]]:
    scale = setting.scale
    return [
        {
            "at_s": entry.requested_at_s,
            "outcome": str(entry.outcome),
            "reason": None if entry.reason is None else str(entry.reason),
            "raw": entry.raw,
            "score": None if scale is None else _normalised(attempt, scale, entry.raw),
        }
        for entry in attempt.entries
    ]
