"""The score of attempts at points in working time, read off their score logs."""

from typing import NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from openrebench.analysis.table import Attempts

FloatArray = NDArray[np.float64]
BoolArray = NDArray[np.bool_]
TOLERANCE = 1e-9  # relative: a log of 1800.0000001 s covers 1800 s


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
    values = np.zeros((len(table), len(times_s)))
    last = (table.attempts["counts"] == "last").to_numpy()
    _fill(values, table.entries, times_s, last)
    lengths = table.attempts["length_s"].to_numpy()[:, None]
    has_log = table.attempts["has_log"].to_numpy()[:, None]
    known = times_s[None, :] <= lengths * (1 + TOLERANCE)
    at_end = np.abs(times_s[None, :] - lengths) <= lengths * TOLERANCE
    final = table.attempts["score"].fill_null(0.0).to_numpy()[:, None]
    values = np.where(has_log, values, np.where(at_end, final, 0.0))
    scored = table.attempts["score"].is_not_null().to_numpy()[:, None]
    return ScoresAt(values, scored & np.where(has_log, known, at_end))


def _fill(values: FloatArray, entries: pl.DataFrame, times_s: FloatArray, last: BoolArray) -> None:
    """Put the running best, or the latest, of each attempt's valid entries into `values`."""
    valid = entries.select("row", "at_s", "score").drop_nulls("score")
    row = valid["row"].to_numpy()
    score = np.maximum(valid["score"].to_numpy(), 0.0)
    column = np.searchsorted(times_s, valid["at_s"].to_numpy() / (1 + TOLERANCE))
    in_time = column < len(times_s)
    best = in_time & ~last[row]
    np.maximum.at(values, (row[best], column[best]), score[best])
    np.maximum.accumulate(values, axis=1, out=values)
    if last.any():
        _fill_last(values, last, valid.with_columns(column=column).filter(in_time & last[row]))


def _fill_last(values: FloatArray, last: BoolArray, valid: pl.DataFrame) -> None:
    ordered = valid.sort("row", "at_s", maintain_order=True)
    latest = np.zeros(values.shape, dtype=np.int64)  # 1 + position in `ordered`; 0 for none
    where = (ordered["row"].to_numpy(), ordered["column"].to_numpy())
    np.maximum.at(latest, where, np.arange(1, ordered.height + 1))
    np.maximum.accumulate(latest, axis=1, out=latest)
    scores = np.concatenate([[0.0], np.maximum(ordered["score"].to_numpy(), 0.0)])
    values[last] = scores[latest[last]]
