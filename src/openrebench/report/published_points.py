"""Collect published points and public human attempts for figures."""

import polars as pl

from openrebench.analysis.facts import human_attempts, published_environments, published_results
from openrebench.analysis.table import Attempts, from_rows
from openrebench.report.figures.published import ATTEMPT, BEST_OF_K, BEST_RUN

SOURCES = "Wijk et al. 2024 (arXiv:2411.15114), METR/eval-analysis-public, model cards"
HUMAN_BUDGET_S = 8 * 3600.0


def human_table() -> Attempts:
    """Public human attempts at the published environments, as a table of attempts."""
    counts = dict(published_environments().select("environment", "counts").rows())
    rows = [
        {
            "attempt": f"human {row['row']}",
            "environment": row["environment"],
            "version": "published",
            "profile": "full",
            "anchors": "published",
            "isolation": "published",
            "source": "published",
            "solver": "human experts",
            "kind": "human",
            "counts": counts[row["environment"]],
            "budget_s": HUMAN_BUDGET_S,
            "length_s": HUMAN_BUDGET_S,
            "working_s": row["hours"] * 3600,
            "ended": "submitted",
            "score": max(0.0, row["score"]),
        }
        for row in human_attempts().iter_rows(named=True)
    ]
    return from_rows(rows)


def published_points(environment: str, humans: Attempts, best_of_k: pl.DataFrame) -> pl.DataFrame:
    """Published numbers of one environment, or of means if `environment` is "".

    Args:
        environment: Environment, or "".
        humans: Public human attempts, marked; doubtful ones are in the table and not drawn.
        best_of_k: Human score@k as `allocation_frame` gives it.
    """
    doubt = pl.col("left_out") != ""
    attempts = humans.attempts.filter(pl.col("environment") == environment).select(
        what=pl.lit(ATTEMPT),
        label="attempt",
        budget_h=pl.col("working_s") / 3600,
        score="score",
        source=pl.lit(human_attempts()["source"][0]),
        status=pl.when(doubt)
        .then(pl.format("public row, not drawn: {}", "left_out"))
        .otherwise(pl.lit("public row")),
    )
    k = best_of_k.filter(~pl.col("resampled")).select(
        what=pl.lit(BEST_OF_K),
        label=pl.format("8h@{} of n={}", "k", "n"),
        budget_h="budget_h",
        score="score",
        source=pl.lit("computed from the public rows"),
        status=pl.lit("computed"),
    )
    return pl.concat([attempts, k, _results(environment)])


def _results(environment: str) -> pl.DataFrame:
    """Published numbers on the reference scale; of means only those with a budget."""
    human = pl.col("model").str.to_lowercase().str.starts_with("human")
    chart = pl.col("confidence").str.contains("chart")
    kind = (
        pl.when(human)
        .then(pl.lit("human, printed"))
        .when(pl.col("budget_h").is_null())
        .then(pl.lit(BEST_RUN))
        .when(chart)
        .then(pl.lit("agent, read off a chart"))
        .otherwise(pl.lit("agent, printed"))
    )
    found = on_reference_scale(environment)
    if not environment:
        found = found.drop_nulls("budget_h")
    return found.select(
        what=kind,
        label=pl.when(human)
        .then(pl.concat_str("model", "budget", separator=", "))
        .otherwise(pl.concat_str("model", _allocation(), separator=", ", ignore_nulls=True)),
        budget_h=pl.col("budget_h").cast(pl.Float64),
        score="score",
        source="source",
        status="status",
    )


def on_reference_scale(environment: str) -> pl.DataFrame:
    """Numeric results of an environment, or of means if it is "", where 1 is the reference."""
    return published_results().filter(
        (pl.col("environment").fill_null("") == environment)
        & (pl.col("scale") == "reference")
        & pl.col("score").is_not_null()
    )


def by_date() -> pl.DataFrame:
    """Published means over several environments, with a date that can be drawn."""
    whole = pl.col("date") + pl.when(pl.col("date").str.len_chars() == 7).then(
        pl.lit("-01")
    ).otherwise(pl.lit(""))
    return (
        on_reference_scale("")
        .drop_nulls("budget_h")
        .filter(~pl.col("model").str.to_lowercase().str.starts_with("human"))
        .with_columns(date=whole.str.to_date("%Y-%m-%d"))
        .select("date", "model", "score", "tasks", "budget", "status", "confidence", "source")
        .sort("date", "model")
    )


def _allocation() -> pl.Expr:
    """The length of the runs behind a budget; null where it was not said."""
    budget = pl.col("budget")
    return (
        pl.when(budget.str.contains("30-min|30min"))
        .then(pl.lit("30-min runs"))
        .when(budget.str.contains("43x45min"))
        .then(pl.lit("45-min or 2-h runs"))
        .when(budget.str.contains("45-min"))
        .then(pl.lit("45-min runs"))
        .when(budget.str.contains("2-h runs|x2h"))
        .then(pl.lit("2-h runs"))
        .otherwise(pl.lit(None, pl.String))
    )


def published_title(environment: str) -> str:
    """Published name of an environment; "" if it is none of the seven."""
    found = published_environments().filter(pl.col("environment") == environment)
    return str(found["title"][0]) if found.height else ""
