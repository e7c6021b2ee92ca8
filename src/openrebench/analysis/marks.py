"""Mark doubtful attempts and decide what counts. Nothing leaves the table."""

from dataclasses import replace

import polars as pl

from openrebench.analysis.errors import NotComparable, TableError
from openrebench.analysis.options import HOUR_S, Options
from openrebench.analysis.table import ATTEMPT_SCHEMA, Attempts

SHORT_HOURS = 6.0  # humans had 8 h; public rows of about 4 h exist
IMPORTED = ("metr", "csv", "published", "inspect")
CLASS_COLUMNS = ("version", "profile", "anchors", "isolation", "stand_in", "budget_rule")


def prepared(table: Attempts, options: Options) -> Attempts:
    """Select, mark and treat attempts as the options say.

    Raises:
        TableError: `options.where` names an unknown column, or no attempt is left.
    """
    selected = _select(table, options)
    marked = _mark(selected, options)
    treated = _treat_flagged(marked, options)
    return _official(treated) if options.official else treated


def _select(table: Attempts, options: Options) -> Attempts:
    for column, value in options.where.items():
        if ATTEMPT_SCHEMA.get(column) != pl.String:
            raise TableError(
                f"no column '{column}' to select by; one of: "
                + ", ".join(name for name, kind in ATTEMPT_SCHEMA.items() if kind == pl.String)
            )
        chosen = pl.col(column) == value
        if table.attempts.filter(chosen).height == 0:
            found = sorted(table.attempts[column].unique().to_list())
            raise TableError(f"no attempt has {column} '{value}'; there is: {', '.join(found)}")
        table = _leave_out(table, ~chosen, f"not {column}={value}")
    return table


def _leave_out(table: Attempts, condition: pl.Expr, reason: str) -> Attempts:
    """Say why attempts do not count; the first reason stays."""
    first = (pl.col("left_out") == "") & condition.fill_null(value=False)
    changed = pl.when(first).then(pl.lit(reason)).otherwise(pl.col("left_out"))
    return replace(table, attempts=table.attempts.with_columns(left_out=changed))


def _mark(table: Attempts, options: Options) -> Attempts:
    """Add the marks over_time, short and implausible, and leave out all but `short`."""
    human = (pl.col("kind") == "human") & pl.col("source").is_in(IMPORTED)
    doubts = {
        "over_time": human & (pl.col("working_s") > options.max_hours * HOUR_S),
        "implausible": pl.col("source").is_in(IMPORTED) & (pl.col("score") >= options.max_score),
        "short": human & (pl.col("working_s") < SHORT_HOURS * HOUR_S),
    }
    words = [pl.when(doubt).then(pl.lit(name)) for name, doubt in doubts.items()]
    old = pl.when(pl.col("marks") != "").then(pl.col("marks"))
    marks = pl.concat_str([old, *words], separator="; ", ignore_nulls=True)
    table = replace(table, attempts=table.attempts.with_columns(marks=marks))
    for name in () if options.keep_marked else ("over_time", "implausible"):
        table = _leave_out(table, doubts[name], name)
    return table


def _treat_flagged(table: Attempts, options: Options) -> Attempts:
    flagged = pl.col("flags") != ""
    if options.flagged == "drop":
        return _leave_out(table, flagged, "flagged")
    if options.flagged == "as_scored":
        return table
    zero = pl.when(flagged & pl.col("score").is_not_null()).then(0.0).otherwise(pl.col("score"))
    official = (
        pl.when(flagged & pl.col("official").is_not_null()).then(0.0).otherwise(pl.col("official"))
    )
    rows = table.attempts.with_row_index("row").filter(flagged)["row"]
    score = pl.when(pl.col("row").is_in(rows.implode())).then(None).otherwise(pl.col("score"))
    return replace(
        table,
        attempts=table.attempts.with_columns(score=zero, official=official),
        entries=table.entries.with_columns(score=score),
    )


def _official(table: Attempts) -> Attempts:
    """Use re-scored results; they say nothing of times before the end."""
    table = _leave_out(table, pl.col("official").is_null(), "never scored again")
    return replace(
        table, attempts=table.attempts.with_columns(score=pl.col("official"), has_log=pl.lit(False))
    )


def require_one_class(table: Attempts, environment: str) -> None:
    """Check that attempts at an environment may share an axis.

    Raises:
        NotComparable: They differ in version, profile, anchors, isolation class or stand-in.
    """
    counted = table.counted.filter(pl.col("environment") == environment)
    for column in CLASS_COLUMNS:
        found = sorted(counted[column].unique().to_list())
        if len(found) > 1:
            raise NotComparable(
                f"attempts at {environment} differ in {column} ({', '.join(map(repr, found))}), "
                f"so they can't share a curve; select one with: --where {column}={found[0]}"
            )
