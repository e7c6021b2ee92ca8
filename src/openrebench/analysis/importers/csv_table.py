"""Attempts from a plain CSV: one row for each score, or one for each attempt.

Columns: `attempt`, `environment`, `solver`, `hours`, `score` (normalised), and where wanted
`kind` (agent or human), `at_hours` (then the rows of one attempt are its score log), `profile`,
`version`, `cost_usd`. Nothing else is read.
"""

from pathlib import Path

import polars as pl

from openrebench.analysis.errors import TableError
from openrebench.analysis.importers.imported import (
    Imported,
    counts_of,
    published_ids,
    refuse_duplicates,
    refuse_rows,
    require_columns,
)
from openrebench.analysis.options import HOUR_S
from openrebench.analysis.table import Attempts, from_rows

NEEDED = ("attempt", "environment", "solver", "hours", "score")
NUMBERS = ("hours", "score", "at_hours", "cost_usd")
TEXT_DEFAULTS = {"kind": "agent", "profile": "full", "version": "imported"}
KNOWN = {*NEEDED, *NUMBERS, *TEXT_DEFAULTS}


def import_csv(path: Path) -> Imported:
    """Read a CSV of attempts.

    Raises:
        TableError: A column is missing, a value is no finite number, a time is negative, an id
            occurs twice, or rows of one attempt contradict each other.
    """
    frame = _read(path)
    _check(path, frame)
    logged = "at_hours" in frame.columns
    if not logged:
        refuse_duplicates(path, frame, "attempt")
    names = published_ids()
    groups = frame.partition_by("attempt", maintain_order=True)
    rows = [_row(path, group, names) for group in groups]
    entries = [_entries(group) for group in groups] if logged else ()
    unread = sorted(set(frame.columns) - KNOWN)
    notes = (f"columns not read: {', '.join(unread)}",) if unread else ()
    return Imported(from_rows(rows, entries), notes)


def _read(path: Path) -> pl.DataFrame:
    try:
        frame = pl.read_csv(path, infer_schema=False)
    except (OSError, pl.exceptions.PolarsError) as error:
        reason = str(error).splitlines()[0]
        raise TableError(f"{path}: can't be read as CSV ({reason})") from error
    require_columns(path, frame, NEEDED)
    if frame.height == 0:
        raise TableError(f"{path}: has no rows")
    for name in NUMBERS:
        if name in frame.columns:
            number = pl.col(name).cast(pl.Float64, strict=False)
            broken = number.is_null() & (pl.col(name).fill_null("") != "")
            refuse_rows(path, frame, broken, name, "a number")
            frame = frame.with_columns(number)
    missing = [pl.lit(v).alias(k) for k, v in TEXT_DEFAULTS.items() if k not in frame.columns]
    return frame.with_columns(missing)


def _check(path: Path, frame: pl.DataFrame) -> None:
    for column in ("attempt", "environment", "solver"):
        refuse_rows(path, frame, pl.col(column).is_null(), column, "there")
    refuse_rows(path, frame, ~pl.col("score").is_finite(), "score", "a finite number")
    for column in ("hours", "at_hours"):
        if column in frame.columns:
            bad = ~pl.col(column).is_finite() | (pl.col(column) < 0)
            refuse_rows(path, frame, bad, column, "a finite number, not below 0")
    unknown = ~pl.col("kind").is_in(["agent", "human"])
    refuse_rows(path, frame, unknown, "kind", "'agent' or 'human'")


def _row(path: Path, group: pl.DataFrame, names: dict[str, str]) -> dict[str, object]:
    first = group.row(0, named=True)
    for column in ("environment", "solver", "hours", "kind", "profile", "version"):
        if group[column].n_unique() > 1:
            raise TableError(
                f"{path}: attempt '{first['attempt']}' has more than one {column}; "
                "give each attempt its own id"
            )
    environment = names.get(first["environment"], first["environment"])
    counts = counts_of(environment)
    scores = group.sort("at_hours")["score"] if "at_hours" in group.columns else group["score"]
    final = (
        float(scores[-1]) if counts == "last" else float(scores.cast(pl.Float64).to_numpy().max())
    )
    length_s = first["hours"] * HOUR_S
    return {
        "attempt": first["attempt"],
        "environment": environment,
        "version": first["version"],
        "profile": first["profile"],
        "anchors": "imported",
        "isolation": "imported",
        "source": "csv",
        "solver": first["solver"],
        "kind": first["kind"],
        "counts": counts,
        "budget_s": length_s,
        "length_s": length_s,
        "working_s": length_s,
        "ended": "budget",
        "score": max(0.0, final),
        "cost_usd": first.get("cost_usd"),
        "score_calls": group.height if "at_hours" in group.columns else None,
        "has_log": "at_hours" in group.columns,
    }


def _entries(group: pl.DataFrame) -> list[dict[str, object]]:
    return [
        {"at_s": at_h * HOUR_S, "outcome": "scored", "score": score}
        for at_h, score in group.sort("at_hours").select("at_hours", "score").iter_rows()
    ]


def export_csv(table: Attempts, path: Path) -> None:
    """Write the attempts of a table as a CSV that `import_csv` reads."""
    table.attempts.select(
        "attempt",
        "environment",
        "solver",
        (pl.col("length_s") / HOUR_S).alias("hours"),
        "score",
        "kind",
        "profile",
        "version",
        "cost_usd",
    ).write_csv(path)
