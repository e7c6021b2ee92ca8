"""Score against total time budget: every way to split a budget into attempts.

A budget T is k attempts of length t. An allocation is a pair (t, k); a curve picks one for each
budget, fixed beforehand or the best afterwards (see curves.py).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple, get_args

import numpy as np
import polars as pl
from numpy.typing import NDArray

from openrebench.analysis.best_of_k import Estimator
from openrebench.analysis.bootstrap import Cell, average, interval, stream
from openrebench.analysis.groups import Group
from openrebench.analysis.lengths import MAX_BUDGET_S, SAME, attempts_for, merged, rungs
from openrebench.analysis.options import HOUR_S, Options

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

ALLOCATION_SCHEMA = pl.Schema(
    {
        "solver": pl.String,
        "kind": pl.String,
        "budget_h": pl.Float64,
        "length_h": pl.Float64,
        "k": pl.Int64,
        "score": pl.Float64,  # by the estimator that was chosen
        "low": pl.Float64,
        "high": pl.Float64,
        "plug_in": pl.Float64,
        "unbiased": pl.Float64,  # null where k is larger than n in an environment
        "n": pl.Int64,  # attempts over all environments
        "n_least": pl.Int64,  # attempts at the environment with the fewest
        "n_effective": pl.Float64,  # how many bests of k the fewest attempts hold: n_least / k
        "environments": pl.Int64,
        "resampled": pl.Boolean,  # k > n_least: attempts are drawn more than once
        "as_run": pl.Boolean,  # attempts were run for this length, not cut to it
        "best": pl.Boolean,  # of its budget, after the fact
    }
)


class Allocation(NamedTuple):
    """One cell of an allocation table: a budget spent on attempts of one length."""

    budget_s: float
    length_s: float
    cell: Cell


@dataclass(frozen=True, kw_only=True)
class Estimates:
    """score@k of a group for every allocation.

    Args:
        values: (n_allocations,), float64: mean over environments; NaN where it has none.
        resampled: (resamples, n_allocations), float64: the same for bootstrap resamples.
        per_environment: (n_environments, n_allocations), float64; NaN without attempts.
        options: How they were made.
    """

    group: Group
    allocations: tuple[Allocation, ...]
    values: FloatArray
    resampled: FloatArray
    per_environment: FloatArray
    options: Options

    @property
    def budgets_s(self) -> FloatArray:
        """(n_budgets,), float64, ascending: budgets with an estimate."""
        has = ~np.isnan(self.values)
        return merged(a.budget_s for a, known in zip(self.allocations, has, strict=True) if known)

    def at_budget(self, budget_s: float) -> IntArray:
        """Positions of the allocations of a budget that have an estimate."""
        budgets = np.array([allocation.budget_s for allocation in self.allocations])
        same = np.abs(budgets - budget_s) <= SAME * budget_s
        return np.flatnonzero(same & ~np.isnan(self.values))

    def n_least(self, position: int) -> int:
        """Attempts at the environment with the fewest, of those in the mean."""
        n = self.group.n()[:, self.allocations[position].cell.column]
        return int(n[n > 0].min(initial=np.iinfo(np.int64).max))

    def draws_twice(self, position: int) -> bool:
        """Whether an allocation needs more attempts than an environment has."""
        return self.allocations[position].cell.k > self.n_least(position)

    def best_at(self, budget_s: float) -> int:
        """Position of the best allocation of a budget.

        With the unbiased estimator the best of those that draw no attempt twice, if any.
        """
        twice_last = self.options.estimator == "unbiased"
        found = [int(i) for i in self.at_budget(budget_s)]
        return min(found, key=lambda i: (twice_last and self.draws_twice(i), -self.values[i]))


def allocations(group: Group, budgets_s: Sequence[float] = ()) -> tuple[Allocation, ...]:
    """List every way to spend each budget on attempts of one of the group's lengths.

    Args:
        group: Gives the lengths.
        budgets_s: Budgets; the lengths and the rungs of the ladder up to a week if empty.
    """
    shortest = float(group.lengths_s[0]) if len(group.lengths_s) else MAX_BUDGET_S
    budgets_s = budgets_s or merged([*group.lengths_s, *rungs(shortest, MAX_BUDGET_S)]).tolist()
    return tuple(
        Allocation(budget_s, float(length_s), Cell(column, k))
        for column, length_s in enumerate(group.lengths_s)
        for budget_s in budgets_s
        if (k := attempts_for(budget_s, float(length_s))) > 0
    )


def estimated(
    group: Group, options: Options, chosen: Sequence[Allocation] | None = None
) -> Estimates:
    """Estimate score@k for every allocation, with bootstrap resamples.

    Where an environment has no attempt of a length the mean is NaN, unless
    `options.present_only` averages over the others.
    """
    chosen = tuple(allocations(group) if chosen is None else chosen)
    chosen = tuple(a._replace(cell=_by(group, a.cell, options.estimator)) for a in chosen)
    cells = [allocation.cell for allocation in chosen]
    resampled = [_resampled(group, cells, options, i) for i in range(len(group.samples))]
    per_environment = _points(group, cells)
    return Estimates(
        group=group,
        allocations=chosen,
        values=_mean(per_environment, options),
        resampled=average(
            resampled,
            present_only=options.present_only,
            environment_draws=_environment_draws(group, options),
        ),
        per_environment=per_environment,
        options=options,
    )


def _resampled(group: Group, cells: Sequence[Cell], options: Options, i: int) -> FloatArray:
    """Resample one environment, from a random stream of its own."""
    rng = stream(options.seed, group.kind, group.solver, group.environments[i])
    return group.samples[i].resampled(cells, options.resamples, rng)


def _by(group: Group, cell: Cell, estimator: Estimator) -> Cell:
    """Set the estimator of a cell: one for all environments, so that a mean has one meaning.

    Plug-in where k is larger than n in any environment with attempts.
    """
    n = group.n()[:, cell.column]
    enough = cell.k <= int(n[n > 0].min(initial=np.iinfo(np.int64).max))
    return cell._replace(estimator=estimator if enough else "plug_in")


def _points(group: Group, cells: Sequence[Cell]) -> FloatArray:
    return np.stack([sample.estimate(cells) for sample in group.samples])


def _mean(per_environment: FloatArray, options: Options) -> FloatArray:
    return average(per_environment[:, None, :], present_only=options.present_only).ravel()


def _environment_draws(group: Group, options: Options) -> IntArray | None:
    """The same environments for every solver, so that differences stay honest."""
    if not options.resample_environments:
        return None
    n = len(group.environments)
    draws = stream(options.seed, "environments").integers(n, size=(options.resamples, n))
    return draws.astype(np.int64)


def allocation_frame(found: Estimates) -> pl.DataFrame:
    """Tabulate every allocation that has an estimate, the best of each budget marked."""
    known = np.flatnonzero(~np.isnan(found.values))
    if len(known) == 0:
        return ALLOCATION_SCHEMA.to_frame()
    low, high = interval(found.resampled[:, known])
    plug_in, unbiased = (
        _mean(
            _points(found.group, [_by(found.group, a.cell, name) for a in found.allocations]),
            found.options,
        )
        for name in get_args(Estimator)[::-1]
    )
    best = {found.best_at(budget_s) for budget_s in found.budgets_s}
    rows = [
        row_of(found, int(i))
        | {"low": float(low[j]), "high": float(high[j]), "best": int(i) in best}
        | {"plug_in": float(plug_in[i])}
        | {"unbiased": None if found.draws_twice(int(i)) else float(unbiased[i])}
        for j, i in enumerate(known)
    ]
    return pl.DataFrame(rows, schema=ALLOCATION_SCHEMA)


def row_of(found: Estimates, i: int) -> dict[str, object]:
    """Describe one allocation: what it is, its score, and from how many attempts."""
    budget_s, length_s, cell = found.allocations[i]
    group, least = found.group, found.n_least(i)
    n = group.n()[:, cell.column]
    return {
        "solver": group.solver,
        "kind": group.kind,
        "budget_h": budget_s / HOUR_S,
        "length_h": length_s / HOUR_S,
        "k": cell.k,
        "score": float(found.values[i]),
        "n": int(n.sum()),
        "n_least": least,
        "n_effective": least / cell.k,
        "environments": int((n > 0).sum()),
        "resampled": found.draws_twice(i),
        "as_run": any(abs(length_s - run_s) <= SAME * run_s for run_s in group.run_s),
    }
