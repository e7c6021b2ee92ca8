"""Counts, shares, pace and percentiles of attempts."""

from typing import NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from openrebench.analysis.bootstrap import interval
from openrebench.analysis.budgets import Estimates
from openrebench.analysis.groups import Group
from openrebench.analysis.options import HOUR_S
from openrebench.analysis.table import Attempts

FloatArray = NDArray[np.float64]


def attempt_summary(table: Attempts, *by: str) -> pl.DataFrame:
    """Sum up attempts by solver and further columns.

    Means, shares and the best are of attempts that count, in-run scores; `left_out` counts the
    others. `distinct` counts different submissions that were an attempt's score.
    """
    counts = pl.col("left_out") == ""
    score = pl.col("score").filter(counts)
    hashes = pl.col("submission").filter(counts & (pl.col("submission") != ""))
    return (
        table.attempts.group_by("solver", "kind", *by)
        .agg(
            n=counts.sum().cast(pl.Int64),
            left_out=(~counts).sum().cast(pl.Int64),
            flagged=(pl.col("flags") != "").sum().cast(pl.Int64),
            mean=score.mean(),
            median=score.median(),
            best=score.max(),
            share_above_0=(score > 0).mean(),
            share_at_least_1=(score >= 1).mean(),
            distinct=hashes.n_unique().cast(pl.Int64),
        )
        .sort(pl.col("kind") != "human", "solver", *by)
    )


def pace(table: Attempts) -> pl.DataFrame:
    """Score calls per working hour of each solver, over attempts whose calls are known."""
    known = table.attempts.filter(pl.col("score_calls").is_not_null() & (pl.col("working_s") > 0))
    return (
        known.group_by("solver", "kind")
        .agg(
            n=pl.len().cast(pl.Int64),
            score_calls=pl.col("score_calls").sum(),
            hours=pl.col("working_s").sum() / HOUR_S,
        )
        .with_columns(calls_per_hour=pl.col("score_calls") / pl.col("hours"))
        .sort(pl.col("kind") != "human", "solver")
    )


def outcome_counts(table: Attempts) -> pl.DataFrame:
    """Score calls of each solver by outcome, with the reason of invalid ones."""
    owners = table.attempts.with_row_index("row").select("row", "solver", "kind")
    return (
        table.entries.join(owners, on="row")
        .with_columns(
            outcome=pl.col("outcome").cast(pl.String),
            reason=pl.col("reason").cast(pl.String).fill_null(""),
        )
        .group_by("solver", "kind", "outcome", "reason")
        .agg(calls=pl.len().cast(pl.Int64))
        .with_columns(share=pl.col("calls") / pl.col("calls").sum().over("solver"))
        .sort("solver", "outcome", "reason")
    )


def left_out_counts(table: Attempts) -> pl.DataFrame:
    """Attempts of each solver by why they do not count; "" for those that do."""
    return (
        table.attempts.group_by("solver", "kind", "left_out")
        .agg(attempts=pl.len().cast(pl.Int64))
        .sort("solver", "left_out")
    )


def percentile_rank(sample: FloatArray, value: float) -> float:
    """Give the share of a sample below a value, in percent; equal ones count half.

    Args:
        sample: (n,), float64.
        value: What is ranked.

    Example:
        >>> percentile_rank(np.array([0.0, 1.0, 2.0, 3.0]), 2.0)
        62.5
    """
    return float(100 * ((sample < value).mean() + (sample == value).mean() / 2))


class Percentile(NamedTuple):
    """Where an agent's expected score lies among human attempts of one length.

    Attributes:
        value: Percentile rank, averaged over environments.
        low: Lower bound of the 95 % interval: human attempts drawn anew.
        high: Upper bound.
    """

    value: float
    low: float
    high: float


def percentile_among(
    humans: Group, column: int, agent: Estimates, position: int, rng: np.random.Generator
) -> Percentile:
    """Rank an agent's score@k among human attempts in each environment and average the ranks.

    Args:
        humans: Human attempts at the same environments.
        column: Which of the human lengths.
        agent: Estimates of the agent.
        position: Which allocation of the agent.
        rng: For the interval.
    """
    values, resampled = [], []
    for sample, score in zip(humans.samples, agent.per_environment[:, position], strict=True):
        scores = sample.values[sample.known[:, column], column]
        ranks = 100 * ((scores < score) + (scores == score) / 2)
        values.append(float(ranks.mean()))
        draws = rng.integers(len(ranks), size=(agent.options.resamples, len(ranks)))
        resampled.append(ranks[draws].mean(axis=1))
    low, high = interval(np.mean(resampled, axis=0)[:, None])
    return Percentile(float(np.mean(values)), float(low[0]), float(high[0]))
