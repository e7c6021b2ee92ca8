"""The budget from which on humans are ahead of an agent."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from openrebench.analysis.curves import Curve
from openrebench.analysis.lengths import SAME
from openrebench.analysis.options import HOUR_S

FloatArray = NDArray[np.float64]
TAILS = (0.025, 0.975)


class Crossover(NamedTuple):
    """Where the human curve passes an agent's.

    Attributes:
        budget_h: Total hours; None if the curves don't cross upwards in the range.
        low_h: Lower bound of the 95 % interval; 0 where it lies below the range, infinity where
            it lies beyond.
        high_h: Upper bound, likewise.
        from_h: First budget that both curves have; None if they share fewer than two.
        to_h: Last budget that both curves have.
        verdict: One sentence.
    """

    budget_h: float | None
    low_h: float
    high_h: float
    from_h: float | None
    to_h: float | None
    verdict: str


def crossover(human: Curve, agent: Curve) -> Crossover:
    """Find the last budget where the human curve passes the agent's from below.

    Both are linear in the logarithm of the budget between their points. A resample in which
    humans are ahead everywhere crosses below the range, one in which the agent is ahead at the
    end crosses beyond it.
    """
    shared = [
        (i, int(j))
        for i, budget_s in enumerate(human.budgets_s)
        for j in np.flatnonzero(np.abs(agent.budgets_s - budget_s) <= SAME * budget_s)
    ]
    if len(shared) < 2:
        return Crossover(None, 0.0, np.inf, None, None, "fewer than two budgets in common")
    ours, theirs = [i for i, _ in shared], [j for _, j in shared]
    log_h = np.log(human.budgets_s[ours] / HOUR_S)
    point = float(crossings((human.values[ours] - agent.values[theirs])[None, :], log_h)[0])
    resampled = crossings(human.resampled[:, ours] - agent.resampled[:, theirs], log_h)
    low, high = np.quantile(resampled, TAILS, method="inverted_cdf")
    from_h, to_h = float(np.exp(log_h[0])), float(np.exp(log_h[-1]))
    low_h, high_h = float(np.exp(low)), float(np.exp(high))
    lower, upper = _bound(low_h, from_h, to_h), _bound(high_h, from_h, to_h)
    said = f"95 % interval {lower if lower == upper else f'{lower} to {upper}'}"
    verdict = f"{_verdict(point, from_h, to_h)} ({said})"
    budget_h = float(np.exp(point)) if np.isfinite(point) else None
    return Crossover(budget_h, low_h, high_h, from_h, to_h, verdict)


def crossings(difference: FloatArray, log_h: FloatArray) -> FloatArray:
    """Find the last upward crossing of each row.

    Args:
        difference: (n_rows, n_budgets), float64: human minus agent; at least two budgets.
        log_h: (n_budgets,), float64, ascending: logarithms of the budgets.

    Returns:
        (n_rows,), float64: log budget; minus infinity if above 0 throughout, plus infinity if
        not above 0 at the end.

    Example:
        >>> crossings(np.array([[-1.0, 1.0], [1.0, 1.0], [1.0, -1.0]]), np.array([0.0, 2.0]))
        array([  1., -inf,  inf])
    """
    ahead = difference > 0
    behind_last = log_h.size - 1 - np.argmax(~ahead[:, ::-1], axis=1)
    at = np.minimum(behind_last, log_h.size - 2)
    rows = np.arange(len(difference))
    before, after = difference[rows, at], difference[rows, at + 1]
    step = np.where(after > before, after - before, 1.0)
    crossing = log_h[at] + (log_h[at + 1] - log_h[at]) * np.clip(-before / step, 0.0, 1.0)
    crossing = np.where(ahead.all(axis=1), -np.inf, crossing)
    return np.where(ahead[:, -1], crossing, np.inf)


def _bound(hours: float, from_h: float, to_h: float) -> str:
    if hours == 0:
        return f"below {from_h:.3g} h"
    return f"beyond {to_h:.3g} h" if hours == np.inf else f"{hours:.3g} h"


def _verdict(point: float, from_h: float, to_h: float) -> str:
    if point == -np.inf:
        return f"none in range: humans ahead at every budget from {from_h:.3g} h"
    if point == np.inf:
        return f"none in range: the agent not behind at {to_h:.3g} h"
    return f"humans ahead from {np.exp(point):.3g} h on"
