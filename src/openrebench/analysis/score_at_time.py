"""The score of attempts at points in working time, read off their score logs."""

from typing import NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from openrebench.analysis.lengths import SAME
from openrebench.analysis.table import Attempts

FloatArray = NDArray[np.float64]
BoolArray = NDArray[np.bool_]
IntArray = NDArray[np.int64]


class ScoresAt(NamedTuple):
    """Scores of attempts at several times.

    Attributes:
        values: (n_attempts, n_times), float64: normalised, not below 0.
        known: (n_attempts, n_times), bool: whether the attempt has data for that time.
    """

    values: FloatArray
    known: BoolArray


def scores_at(table: Attempts, times_s: FloatArray) -> ScoresAt:
    """Read the score of every attempt at every time.

    The best valid entry asked for by then counts, or the last valid one where the environment
    says so; 0 before the first. An attempt has data for every time up to its length if its log
    is there, else only for its length.

    Args:
        table: Attempts with scores.
        times_s: (n_times,), float64: working seconds, ascending.
    """
    has_log = table.attempts["has_log"].to_numpy()[:, None]
    lengths_s = table.attempts["length_s"].fill_null(0.0).to_numpy()[:, None]
    scored = table.attempts["score"].is_not_null().to_numpy()[:, None]
    final = table.attempts["score"].fill_null(0.0).to_numpy()[:, None]
    at_end = np.abs(times_s[None, :] - lengths_s) <= lengths_s * SAME
    covered = times_s[None, :] <= lengths_s * (1 + SAME)
    values = np.where(has_log, _logged(table, times_s), np.where(at_end, final, 0.0))
    return ScoresAt(values, scored & np.where(has_log, covered, at_end))


def calls_at(table: Attempts, times_s: FloatArray) -> FloatArray:
    """Count the score calls of every attempt by every time.

    Args:
        table: Attempts.
        times_s: (n_times,), float64: working seconds, ascending.

    Returns:
        (n_attempts, n_times), float64; without a log the attempt's number of calls at its own
        length, NaN where that is unknown.
    """
    counts = np.zeros((len(table), len(times_s)))
    column = _columns(table.entries["at_s"], times_s)
    in_time = column < len(times_s)
    np.add.at(counts, (table.entries["row"].to_numpy()[in_time], column[in_time]), 1.0)
    total = table.attempts["score_calls"].cast(pl.Float64).to_numpy()[:, None]
    has_log = table.attempts["has_log"].to_numpy()[:, None]
    return np.where(has_log, np.cumsum(counts, axis=1), total)


def _columns(at_s: pl.Series, times_s: FloatArray) -> IntArray:
    """The first of the times that each moment belongs to; one past the last if none."""
    return np.searchsorted(times_s, at_s.to_numpy() / (1 + SAME))


def _logged(table: Attempts, times_s: FloatArray) -> FloatArray:
    """The running best, or the latest, of each attempt's valid entries."""
    values = np.zeros((len(table), len(times_s)))
    last = (table.attempts["counts"] == "last").to_numpy()
    valid = table.entries.select("row", "at_s", "score").drop_nulls("score")
    row, column = valid["row"].to_numpy(), _columns(valid["at_s"], times_s)
    in_time = column < len(times_s)
    best = in_time & ~last[row]
    scores = np.maximum(valid["score"].to_numpy(), 0.0)
    np.maximum.at(values, (row[best], column[best]), scores[best])
    np.maximum.accumulate(values, axis=1, out=values)
    if last.any():
        chosen = pl.Series(in_time & last[row])
        values[last] = _latest(valid.with_columns(column=column).filter(chosen), values.shape)[last]
    return values


def _latest(valid: pl.DataFrame, shape: tuple[int, ...]) -> FloatArray:
    """The last valid score of each attempt by each time, whatever came before."""
    ordered = valid.sort("row", "at_s", maintain_order=True)
    place = np.zeros(shape, dtype=np.int64)  # 1 + position in `ordered`; 0 for none
    where = (ordered["row"].to_numpy(), ordered["column"].to_numpy())
    np.maximum.at(place, where, np.arange(1, ordered.height + 1))
    np.maximum.accumulate(place, axis=1, out=place)
    scores = np.concatenate([[0.0], np.maximum(ordered["score"].to_numpy(), 0.0)])
    return np.asarray(scores[place])
