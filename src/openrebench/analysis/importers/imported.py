"""What every importer gives, and what they share."""

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import polars as pl

from openrebench.analysis.errors import TableError
from openrebench.analysis.facts import published_environments
from openrebench.analysis.table import Attempts


class Imported(NamedTuple):
    """An imported table.

    Attributes:
        attempts: The attempts; doubtful ones are marked, none is missing.
        notes: One sentence for each thing that a reader should know, such as rows of other tasks.
    """

    attempts: Attempts
    notes: tuple[str, ...]


def published_ids() -> dict[str, str]:
    """Published name of each environment, with and without its prefix, to our name."""
    pairs = published_environments().select("published_id", "environment").rows()
    short = {name.removeprefix("ai_rd_"): environment for name, environment in pairs}
    own = {environment: environment for _, environment in pairs}
    return {**own, **short, **dict(pairs)}


def counts_of(environment: str) -> str:
    """Which entry of a score log counts at a published environment: the best or the last."""
    found = published_environments().filter(pl.col("environment") == environment)
    return str(found["counts"][0]) if found.height else "best"


def require_columns(path: Path, frame: pl.DataFrame, names: Sequence[str]) -> None:
    """Check that a table has the columns it needs.

    Raises:
        TableError: One is missing; names it, and what is there.
    """
    for name in names:
        if name not in frame.columns:
            raise TableError(
                f"{path}: has no column '{name}'; it has: {', '.join(sorted(frame.columns))}"
            )


def refuse_rows(path: Path, frame: pl.DataFrame, bad: pl.Expr, column: str, wanted: str) -> None:
    """Refuse a table with a bad value.

    Args:
        path: File, for the message.
        frame: Rows in the order of the file.
        bad: True for a row that can't be used; null counts as bad.
        column: Whose value is bad.
        wanted: What it must be.

    Raises:
        TableError: Names the first such row by its line and says what was found.
    """
    found = frame.with_row_index("line", offset=1).filter(bad.fill_null(value=True))
    if found.height:
        more = f" ({found.height} rows like it)" if found.height > 1 else ""
        raise TableError(
            f"{path}: row {found['line'][0]}: {column} is {found[column][0]!r}; "
            f"it must be {wanted}{more}"
        )


def refuse_duplicates(path: Path, frame: pl.DataFrame, column: str) -> None:
    """Refuse a table in which an id occurs twice.

    Raises:
        TableError: Names the id and its rows.
    """
    numbered = frame.with_row_index("line", offset=1)
    twice = numbered.filter(pl.col(column).is_duplicated())
    if twice.height:
        lines = twice.filter(pl.col(column) == twice[column][0])["line"].to_list()
        raise TableError(
            f"{path}: rows {lines[0]} and {lines[1]} have the same {column} "
            f"'{twice[column][0]}'; keep one of them"
        )
