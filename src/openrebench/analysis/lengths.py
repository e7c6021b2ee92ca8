"""Lengths and budgets that tables and curves are drawn at."""

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from openrebench.analysis.options import HOUR_S

FloatArray = NDArray[np.float64]
LADDER_S = (
    *(15.0, 30.0, 60.0, 120.0, 240.0, 480.0, 900.0, 1800.0),
    *(hours * HOUR_S for hours in (1, 2, 4, 8, 16, 32, 64, 128, 168)),
)
SAME = 1e-6  # relative difference below which two times are one
MAX_BUDGET_S = 168 * HOUR_S
MAX_RESAMPLING = 5.0  # no curve beyond this many times the attempts there are


def rungs(low_s: float, high_s: float) -> list[float]:
    """Give the rungs of the ladder between two times, both included.

    Example:
        >>> rungs(1800, 7200)
        [1800.0, 3600.0, 7200.0]
    """
    return [rung for rung in LADDER_S if low_s * (1 - SAME) <= rung <= high_s * (1 + SAME)]


def attempts_for(budget_s: float, length_s: float) -> int:
    """Count the attempts of a length that a budget pays for; the rest stays unused.

    Example:
        >>> attempts_for(8 * 3600, 1800), attempts_for(3600, 2700), attempts_for(60, 120)
        (16, 1, 0)
    """
    return int(budget_s / length_s * (1 + SAME))


def merged(times_s: Iterable[float]) -> FloatArray:
    """Sort times and keep one of those that differ by rounding only."""
    found: list[float] = []
    for time_s in sorted(times_s):
        if not found or time_s > found[-1] * (1 + SAME):
            found.append(time_s)
    return np.array(found)
