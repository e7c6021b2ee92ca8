"""The table of attempts that every analysis starts from.

Two data frames: one row for each attempt, one row for each score-log entry. Attempts that do
not count stay in the table with the reason in `left_out`, so that nothing is dropped silently.
"""

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl

from openrebench.analysis.errors import TableError
from openrebench.core.result import Outcome
from openrebench.errors import Reason

OUTCOMES = pl.Enum([str(outcome) for outcome in Outcome])
REASONS = pl.Enum([str(reason) for reason in Reason])

SHIPPED_TIMES = ", times of another machine of this name"  # ends the name of such anchors
ATTEMPT_SCHEMA = pl.Schema(
    {
        "attempt": pl.String,  # id, unique
        "environment": pl.String,
        "version": pl.String,
        "profile": pl.String,
        "anchors": pl.String,  # which measured anchors gave the scale; "" if none did
        "anchor_spread": pl.Float64,  # how far start or reference may lie from 0 or 1
        "isolation": pl.String,  # class, not mode: see folders.isolation_class
        "stand_in": pl.String,  # "" or what stands in for a real model or judge
        "budget_rule": pl.String,  # "" or how this budget differs from the published rule
        "source": pl.String,  # own, metr, inspect, csv, published
        "solver": pl.String,  # attempts of one solver are drawn as one curve
        "kind": pl.String,  # agent or human
        "model": pl.String,
        "counts": pl.String,  # best or last: which entry is the attempt's score
        "budget_s": pl.Float64,  # working seconds allowed; null if unlimited
        "length_s": pl.Float64,  # longest budget that the attempt has data for
        "working_s": pl.Float64,
        "ended": pl.String,  # budget, submitted, interrupted, running, error
        "unit": pl.String,
        "raw": pl.Float64,  # raw score that counts; null if no entry is valid
        "score": pl.Float64,  # in-run score, normalised, not below 0; null without anchors
        "official": pl.Float64,  # the same after an official re-score; null if there was none
        "submission": pl.String,  # hash of the files whose score counts
        "flags": pl.String,  # integrity findings, joined by "; "
        "marks": pl.String,  # data-quality marks, joined by "; "
        "left_out": pl.String,  # "" if the attempt counts, else why it does not
        "score_calls": pl.Int64,  # null if unknown
        "input_tokens": pl.Int64,
        "output_tokens": pl.Int64,
        "cost_usd": pl.Float64,
        "gpu_s": pl.Float64,
        "started_ms": pl.Int64,  # UTC, milliseconds since 1970
        "wall_s": pl.Float64,
        "has_log": pl.Boolean,  # whether the entries say what the score was before the end
    }
)
ENTRY_SCHEMA = pl.Schema(
    {
        "row": pl.UInt32(),  # row of the attempt in the table of attempts
        "at_s": pl.Float64(),  # working seconds when the score was asked for
        "outcome": OUTCOMES,
        "reason": REASONS,  # null unless invalid
        "raw": pl.Float64(),  # null unless scored
        "score": pl.Float64(),  # normalised, may be below 0; null unless scored and normalised
    }
)
NEVER_NEGATIVE = (
    *("budget_s", "length_s", "working_s", "wall_s", "score", "official"),
    *("cost_usd", "gpu_s"),
)


@dataclass(frozen=True, kw_only=True)
class Attempts:
    """Attempts and their score-log entries.

    Args:
        attempts: One row each, as ATTEMPT_SCHEMA.
        entries: As ENTRY_SCHEMA, ordered by attempt, then as they were logged.
    """

    attempts: pl.DataFrame
    entries: pl.DataFrame

    def __len__(self) -> int:
        return self.attempts.height

    @property
    def counted(self) -> pl.DataFrame:
        """Attempts that count."""
        return self.attempts.filter(pl.col("left_out") == "")

    def keep(self, condition: pl.Expr) -> "Attempts":
        """Give the attempts that fulfil a condition, with their entries."""
        kept = self.attempts.select(condition.fill_null(value=False)).to_series().to_numpy()
        numbers = np.cumsum(kept, dtype=np.uint32) - np.uint32(1)
        rows = self.entries["row"].to_numpy()
        staying = kept[rows]
        entries = self.entries.filter(pl.Series(staying)).with_columns(
            row=pl.Series(numbers[rows[staying]], dtype=pl.UInt32)
        )
        return Attempts(attempts=self.attempts.filter(pl.Series(kept)), entries=entries)

    def sha256(self) -> str:
        """Hash of the content: equal tables have equal hashes, whatever file they came from."""
        found = hashlib.sha256()
        for frame in (self.attempts, self.entries):
            for column in frame.get_columns():
                found.update(column.name.encode())
                found.update(_bytes(column))
        return found.hexdigest()


def _bytes(column: pl.Series) -> bytes:
    if column.dtype == pl.String:
        return "\0".join(column.fill_null("\1").to_list()).encode()
    plain = column.to_physical()
    nulls = plain.is_null().to_numpy().tobytes() if plain.null_count() else b""
    if plain.dtype == pl.Boolean:
        plain = plain.cast(pl.UInt8)
    return plain.fill_null(0).to_numpy().tobytes() + nulls


def empty() -> Attempts:
    """Give a table without attempts."""
    return Attempts(attempts=ATTEMPT_SCHEMA.to_frame(), entries=ENTRY_SCHEMA.to_frame())


def from_rows(
    rows: Sequence[Mapping[str, object]], entries: Iterable[Sequence[Mapping[str, object]]] = ()
) -> Attempts:
    """Build a table from plain rows; columns left out are null, or "" where they are text.

    Args:
        rows: One for each attempt.
        entries: The entries of each attempt in the same order, without `row`.

    Raises:
        TableError: An id occurs twice, or a number is negative or not finite.
    """
    defaults: dict[str, object] = {
        name: "" if kind == pl.String else None for name, kind in ATTEMPT_SCHEMA.items()
    } | {"has_log": False}
    attempts = pl.DataFrame([defaults | dict(row) for row in rows], schema=ATTEMPT_SCHEMA)
    flat = [{"row": i, **entry} for i, group in enumerate(entries) for entry in group]
    return checked(Attempts(attempts=attempts, entries=pl.DataFrame(flat, schema=ENTRY_SCHEMA)))


def concatenate(tables: Sequence[Attempts]) -> Attempts:
    """Join tables into one.

    Raises:
        TableError: An attempt is in more than one of them.
    """
    if len(tables) < 2:
        return tables[0] if tables else empty()
    shifted, start = [], 0
    for table in tables:
        shifted.append(table.entries.with_columns((pl.col("row") + start).cast(pl.UInt32)))
        start += len(table)
    return checked(
        Attempts(
            attempts=pl.concat([table.attempts for table in tables]), entries=pl.concat(shifted)
        )
    )


def checked(table: Attempts) -> Attempts:
    """Give the table back if it can be analysed.

    Raises:
        TableError: An id occurs twice, or a number is negative or not finite.
    """
    ids = table.attempts["attempt"]
    twice = ids.filter(ids.is_duplicated())
    if len(twice):
        raise TableError(
            f"attempt '{twice[0]}' is there {len(ids.filter(ids == twice[0]))} times; "
            "name each folder or file once"
        )
    for name in NEVER_NEGATIVE:
        column = table.attempts[name]
        _refuse(table, column, ~column.is_finite() | (column < 0), table.attempts["attempt"])
    if table.entries.height:
        owners = table.attempts["attempt"].gather(table.entries["row"])
        at_s, raw, score = (table.entries[name] for name in ("at_s", "raw", "score"))
        _refuse(table, at_s, ~at_s.is_finite() | (at_s < 0), owners)
        _refuse(table, raw, ~raw.is_finite(), owners)
        _refuse(table, score, ~score.is_finite(), owners)
    return table


def _refuse(table: Attempts, column: pl.Series, bad: pl.Series, owners: pl.Series) -> None:
    """Raise for the first bad value of a column."""
    at = bad.fill_null(value=False).arg_true()
    if len(at):
        raise TableError(
            f"attempt '{owners[at[0]]}': {column.name} is {column[at[0]]}; it must be a finite "
            "number, and a time, a cost or a clipped score is not below 0"
        )


def write_parquet(table: Attempts, folder: Path) -> None:
    """Write `attempts.parquet` and `entries.parquet` into a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    table.attempts.write_parquet(folder / "attempts.parquet")
    table.entries.write_parquet(folder / "entries.parquet")


def read_parquet(folder: Path) -> Attempts:
    """Read what `write_parquet` wrote.

    Raises:
        TableError: A file is missing, is no Parquet file, or lacks a column.
    """
    return checked(
        Attempts(
            attempts=_read_frame(folder / "attempts.parquet", ATTEMPT_SCHEMA),
            entries=_read_frame(folder / "entries.parquet", ENTRY_SCHEMA),
        )
    )


def _read_frame(path: Path, schema: pl.Schema) -> pl.DataFrame:
    try:
        frame = pl.read_parquet(path)
    except (OSError, pl.exceptions.PolarsError) as error:
        raise TableError(f"{path}: can't be read as a Parquet table; write it again") from error
    missing = [column for column in schema if column not in frame.columns]
    if missing:
        raise TableError(f"{path}: has no column '{missing[0]}'; write the table again")
    try:
        return frame.select(schema.names()).cast(schema)
    except pl.exceptions.PolarsError as error:
        raise TableError(f"{path}: a column has the wrong type; write the table again") from error
