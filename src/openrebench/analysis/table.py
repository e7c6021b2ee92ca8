"""The table of attempts that every analysis starts from.

Two data frames: one row for each attempt, one row for each score-log entry. Attempts that do
not count stay in the table with the reason in `left_out`, so that nothing is dropped silently.
"""

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import polars as pl

from openrebench.analysis.errors import TableError

OUTCOMES = pl.Enum(["scored", "invalid", "error"])

ATTEMPT_SCHEMA = pl.Schema(
    {
        "attempt": pl.String,  # id, unique
        "environment": pl.String,
        "version": pl.String,
        "profile": pl.String,
        "anchors": pl.String,  # which measured anchors gave the scale; "" if none did
        "isolation": pl.String,  # class, not mode: see folders.isolation_class
        "stand_in": pl.String,  # "" or what stands in for a real model or judge
        "source": pl.String,  # own, metr, inspect, csv, published
        "solver": pl.String,  # attempts of one solver are drawn as one curve
        "kind": pl.String,  # agent or human
        "counts": pl.String,  # best or last: which entry is the attempt's score
        "budget_s": pl.Float64,  # working seconds allowed; null if unlimited
        "length_s": pl.Float64,  # longest budget that the attempt has data for
        "working_s": pl.Float64,
        "ended": pl.String,  # budget, submitted, interrupted, running, error
        "unit": pl.String,
        "raw": pl.Float64,  # raw score that counts; null if no entry is valid
        "score": pl.Float64,  # in-run score, normalised, not below 0; null without anchors
        "official": pl.Float64,  # the same after an official re-score; null if there was none
        "flags": pl.String,  # integrity findings, joined by "; "
        "marks": pl.String,  # data-quality marks, joined by "; "
        "left_out": pl.String,  # "" if the attempt counts, else why it does not
        "score_calls": pl.Int64,
        "input_tokens": pl.Int64,
        "output_tokens": pl.Int64,
        "cost_usd": pl.Float64,
        "gpu_s": pl.Float64,
        "has_log": pl.Boolean,  # whether the entries say what the score was before the end
    }
)
ENTRY_SCHEMA = pl.Schema(
    {
        "row": pl.UInt32(),  # row of the attempt in the table of attempts
        "at_s": pl.Float64(),  # working seconds when the score was asked for
        "outcome": OUTCOMES,
        "raw": pl.Float64(),  # null unless scored
        "score": pl.Float64(),  # normalised, may be below 0; null unless scored and normalised
    }
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
        numbered = self.attempts.with_row_index("old").filter(condition)
        renumber = numbered.select(pl.col("old").alias("row")).with_row_index("new")
        entries = (
            self.entries.join(renumber, on="row", how="inner", maintain_order="left")
            .with_columns(pl.col("new").alias("row"))
            .select(ENTRY_SCHEMA.names())
        )
        return replace(self, attempts=numbered.drop("old"), entries=entries)

    def sha256(self) -> str:
        """Hash of the content: equal tables have equal hashes, whatever file they came from."""
        found = hashlib.sha256()
        for frame in (self.attempts, self.entries):
            for name in frame.columns:
                hashes = frame.get_column(name).cast(pl.String).hash(0)
                found.update(name.encode() + hashes.to_numpy().tobytes())
        return found.hexdigest()


def empty() -> Attempts:
    """Give a table without attempts."""
    return Attempts(attempts=ATTEMPT_SCHEMA.to_frame(), entries=ENTRY_SCHEMA.to_frame())


def from_rows(
    rows: Sequence[dict[str, object]], entries: Iterable[Sequence[dict[str, object]]] = ()
) -> Attempts:
    """Build a table from plain rows; columns left out are null, or "" where they are text.

    Args:
        rows: One for each attempt.
        entries: The entries of each attempt in the same order, without `row`.
    """
    defaults = {
        name: "" if kind == pl.String else None for name, kind in ATTEMPT_SCHEMA.items()
    } | {"has_log": False, "score_calls": 0}
    attempts = pl.DataFrame([defaults | row for row in rows], schema=ATTEMPT_SCHEMA)
    flat = [{"row": i, **entry} for i, group in enumerate(entries) for entry in group]
    return checked(Attempts(attempts=attempts, entries=pl.DataFrame(flat, schema=ENTRY_SCHEMA)))


def concatenate(tables: Sequence[Attempts]) -> Attempts:
    """Join tables into one.

    Raises:
        TableError: An attempt is in more than one of them.
    """
    if not tables:
        return empty()
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
        TableError: An id occurs twice, or a time or score is not a finite number or negative.
    """
    ids = table.attempts.get_column("attempt")
    twice = ids.filter(ids.is_duplicated())
    if len(twice):
        raise TableError(
            f"attempt '{twice[0]}' is there {len(ids.filter(ids == twice[0]))} times; "
            "name each folder or file once"
        )
    for frame, columns in (
        (table.attempts, ("budget_s", "length_s", "working_s", "score", "official", "cost_usd")),
        (table.entries.select("at_s"), ("at_s",)),
    ):
        for column in columns:
            _check_finite(table, frame, column)
    return table


def _check_finite(table: Attempts, frame: pl.DataFrame, column: str) -> None:
    value = pl.col(column)
    bad = frame.with_row_index("index").filter(~value.is_finite() | (value < 0))
    if bad.height == 0:
        return
    index, found = bad["index"][0], bad[column][0]
    row = index if frame is table.attempts else table.entries["row"][index]
    raise TableError(
        f"attempt '{table.attempts['attempt'][row]}': {column} is {found}; "
        "it must be a finite number, not below 0"
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
    frames = []
    for name, schema in (("attempts", ATTEMPT_SCHEMA), ("entries", ENTRY_SCHEMA)):
        path = folder / f"{name}.parquet"
        try:
            frame = pl.read_parquet(path)
        except (OSError, pl.exceptions.PolarsError) as error:
            raise TableError(f"{path}: can't be read as a Parquet table") from error
        missing = [column for column in schema if column not in frame.columns]
        if missing:
            raise TableError(f"{path}: has no column '{missing[0]}'; write the table again")
        frames.append(frame.select(schema.names()).cast(schema))
    return checked(Attempts(attempts=frames[0], entries=frames[1]))
