"""Curves over budgets: which allocation stands for each budget, and with which interval."""

from typing import Literal, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from openrebench.analysis.bootstrap import interval
from openrebench.analysis.budgets import ALLOCATION_SCHEMA, Estimates, row_of
from openrebench.analysis.lengths import SAME
from openrebench.analysis.options import HOUR_S

FloatArray = NDArray[np.float64]
Rule = Literal["best", "longest"]

CURVE_COLUMNS = (
    *("solver", "kind", "budget_h", "length_h", "k", "score", "low", "high"),
    *("n", "n_least", "n_effective", "environments", "resampled", "as_run"),
)
CURVE_SCHEMA = pl.Schema({name: ALLOCATION_SCHEMA[name] for name in CURVE_COLUMNS})


class Curve(NamedTuple):
    """Score against total budget.

    Attributes:
        budgets_s: (n_budgets,), float64, ascending.
        values: (n_budgets,), float64.
        resampled: (resamples, n_budgets), float64.
        chosen: Position of the allocation behind each point.
    """

    budgets_s: FloatArray
    values: FloatArray
    resampled: FloatArray
    chosen: tuple[int, ...]


def rule_of(found: Estimates) -> Rule:
    """Humans work on one attempt as long as they can; agents get the best allocation."""
    return "longest" if found.group.kind == "human" else "best"


def curve(found: Estimates, rule: Rule | None = None, length_s: float | None = None) -> Curve:
    """Pick an allocation for each budget.

    With the unbiased estimator a point draws no attempt twice where an allocation of its budget
    allows that; a budget may then also be spent as a smaller one was, so that such a curve never
    falls. Plug-in draws with replacement anyway.

    Args:
        found: Estimates of one solver.
        rule: "best": the best allocation of each budget, chosen after the fact, in every
            resample anew. "longest": the running best inside one attempt, then the best of k of
            the longest. By the solver's kind if None.
        length_s: Only attempts of this length.
    """
    points: list[tuple[float, list[int]]] = []
    smaller: list[int] = []
    for budget_s in found.budgets_s:
        positions = _candidates(found, float(budget_s), rule or rule_of(found), length_s)
        once = [i for i in positions if not found.draws_twice(i)]
        if once and found.options.estimator == "unbiased":
            smaller = [*smaller, *once]
            positions = smaller
        if positions:
            points.append((float(budget_s), positions))
    # Of equal ones the last: the budget's own.
    chosen = [max(reversed(positions), key=found.values.__getitem__) for _, positions in points]
    resampled = [found.resampled[:, positions].max(axis=1) for _, positions in points]
    return Curve(
        budgets_s=np.array([budget_s for budget_s, _ in points]),
        values=found.values[np.array(chosen, dtype=np.int64)],
        resampled=np.stack(resampled, axis=1) if resampled else np.empty((0, 0)),
        chosen=tuple(chosen),
    )


def _candidates(found: Estimates, budget_s: float, rule: Rule, length_s: float | None) -> list[int]:
    positions = found.at_budget(budget_s)
    lengths = np.array([found.allocations[i].length_s for i in positions])
    if length_s is not None:
        positions = positions[np.abs(lengths - length_s) <= SAME * length_s]
    elif rule == "longest":
        positions = positions[lengths == lengths.max()]
    return [int(i) for i in positions]


def curve_frame(found: Estimates, drawn: Curve) -> pl.DataFrame:
    """Tabulate a curve: one row for each budget."""
    if not drawn.chosen:
        return CURVE_SCHEMA.to_frame()
    low, high = interval(drawn.resampled)
    rows = [
        row_of(found, i)
        | {"budget_h": float(drawn.budgets_s[j]) / HOUR_S}
        | {"low": float(low[j]), "high": float(high[j])}
        for j, i in enumerate(drawn.chosen)
    ]
    return pl.DataFrame(rows, schema=CURVE_SCHEMA)


class Area(NamedTuple):
    """Mean score over a range of budgets on the log axis, with its interval."""

    value: float
    low: float
    high: float
    from_h: float
    to_h: float


def area_under(drawn: Curve, from_s: float, to_s: float) -> Area | None:
    """Average a curve over the logarithm of the budget; None if it has no points at both ends.

    The unit is a normalised score: the area divided by the width of the range, so that a
    constant curve gives its value.
    """
    inside = (drawn.budgets_s >= from_s * (1 - SAME)) & (drawn.budgets_s <= to_s * (1 + SAME))
    budgets_s = drawn.budgets_s[inside]
    if len(budgets_s) < 2:
        return None
    if budgets_s[0] > from_s * (1 + SAME) or budgets_s[-1] < to_s * (1 - SAME):
        return None
    x = np.log(budgets_s)
    width = float(x[-1] - x[0])
    areas = np.asarray(np.trapezoid(drawn.resampled[:, inside], x, axis=1)) / width
    low, high = interval(areas[:, None])
    value = float(np.trapezoid(drawn.values[inside], x)) / width
    return Area(value, float(low[0]), float(high[0]), from_s / HOUR_S, to_s / HOUR_S)
