"""What attempts cost in money and score calls, and the same curves against it.

Amounts nobody knows stay unknown: a curve whose attempts have no cost is not drawn.
"""

import numpy as np
import polars as pl
from numpy.typing import NDArray

from openrebench.analysis.budgets import Estimates
from openrebench.analysis.curves import Curve, curve_frame
from openrebench.analysis.groups import Group
from openrebench.analysis.options import HOUR_S, Options
from openrebench.analysis.score_at_time import calls_at
from openrebench.analysis.table import Attempts

FloatArray = NDArray[np.float64]
MILLION = 1e6


def attempt_costs_usd(table: Attempts, options: Options) -> FloatArray:
    """Give what each attempt cost.

    A human's attempt costs `options.human_attempt_usd`. An agent's costs what its record says,
    else its tokens at `options.token_prices`; GPU hours are added at `options.gpu_hour_usd`.

    Returns:
        (n_attempts,), float64, US dollars; NaN where unknown.
    """
    prices = options.token_prices
    price_in = pl.col("model").replace_strict(
        {model: price[0] for model, price in prices.items()}, default=None, return_dtype=pl.Float64
    )
    price_out = pl.col("model").replace_strict(
        {model: price[1] for model, price in prices.items()}, default=None, return_dtype=pl.Float64
    )
    tokens = (pl.col("input_tokens") * price_in + pl.col("output_tokens") * price_out) / MILLION
    gpu = pl.col("gpu_s") / HOUR_S * options.gpu_hour_usd
    agent = pl.coalesce("cost_usd", tokens) + (gpu if options.gpu_hour_usd else 0.0)
    human = pl.lit(options.human_attempt_usd, dtype=pl.Float64)
    cost = pl.when(pl.col("kind") == "human").then(human).otherwise(agent)
    found = table.attempts.select(cost.cast(pl.Float64).alias("cost")).to_series()
    return np.asarray(found.to_numpy(), dtype=np.float64)


def mean_costs_usd(table: Attempts, group: Group, options: Options) -> FloatArray:
    """Give the mean cost of one attempt of each length, over environments.

    An attempt cut to a shorter length costs its share of the time, except a human's, who is
    paid for the attempt.

    Returns:
        (n_lengths,), float64, US dollars; NaN where a cost is unknown.
    """
    costs = attempt_costs_usd(table, options)[:, None]
    if group.kind == "human":
        return _mean(group, np.repeat(costs, len(group.lengths_s), axis=1))
    lengths = np.maximum(table.attempts["length_s"].to_numpy()[:, None], 1.0)
    return _mean(group, costs * np.minimum(1.0, group.lengths_s[None, :] / lengths))


def mean_calls(table: Attempts, group: Group) -> FloatArray:
    """Give the mean number of score calls of one attempt of each length, over environments.

    Returns:
        (n_lengths,), float64; NaN where unknown.
    """
    return _mean(group, calls_at(table, group.lengths_s))


def _mean(group: Group, amounts: FloatArray) -> FloatArray:
    """Average amounts over attempts with data, then over environments.

    Args:
        group: Says which attempts have data.
        amounts: (n_attempts, n_lengths), float64, for all attempts of the table.
    """
    totals = np.zeros(len(group.lengths_s))
    for sample, rows in zip(group.samples, group.rows, strict=True):
        known = sample.known
        summed = np.where(known, amounts[rows], 0.0).sum(axis=0)
        totals += np.where(known.any(axis=0), summed / np.maximum(known.sum(axis=0), 1), np.nan)
    return totals / len(group.samples)


def cost_frame(table: Attempts, found: Estimates, drawn: Curve) -> pl.DataFrame:
    """Tabulate a curve with what each of its points costs.

    Returns:
        As `curve_frame`, with `cost_usd` and `score_calls` of the whole budget; null if unknown.
    """
    frame = curve_frame(found, drawn)
    columns = [found.allocations[i].cell.column for i in drawn.chosen]
    k = np.array([found.allocations[i].cell.k for i in drawn.chosen], dtype=np.float64)
    costs = mean_costs_usd(table, found.group, found.options)[columns] * k
    calls = mean_calls(table, found.group)[columns] * k
    return frame.with_columns(
        cost_usd=pl.Series(costs, dtype=pl.Float64).fill_nan(None),
        score_calls=pl.Series(calls, dtype=pl.Float64).fill_nan(None),
    )
