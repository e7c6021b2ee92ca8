"""Score against total time budget: every way to split a budget into attempts.

A budget T is k attempts of length t. An allocation is a pair (t, k); a curve picks one for each
budget, fixed beforehand or the best afterwards.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from openrebench.analysis.bootstrap import (
    Cell,
    Sample,
    interval,
    mean_over_environments,
    stream,
)
from openrebench.analysis.lengths import MAX_BUDGET_S, attempts_for, merged, rungs
from openrebench.analysis.options import HOUR_S, Options
from openrebench.analysis.score_at_time import scores_at
from openrebench.analysis.table import Attempts

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
SHORTEST_CUT = 32.0  # logs are cut down to this part of the longest attempt


class Allocation(NamedTuple):
    """One cell of an allocation table: a budget spent on attempts of one length."""

    budget_s: float
    length_s: float
    cell: Cell


@dataclass(frozen=True, kw_only=True)
class Group:
    """The attempts of one solver at the environments of a mean.

    Args:
        environments: Names, in the order of `samples`.
        lengths_s: (n_lengths,), float64, ascending: columns of the samples.
        run_s: Lengths that attempts were run for; others come from cutting score logs.
        samples: One for each environment; may hold no attempt.
    """

    solver: str
    kind: str
    environments: tuple[str, ...]
    lengths_s: FloatArray
    run_s: tuple[float, ...]
    samples: tuple[Sample, ...]

    def n(self) -> IntArray:
        """Attempts with data: (n_environments, n_lengths), int64."""
        return np.stack([sample.n for sample in self.samples])


@dataclass(frozen=True, kw_only=True)
class Estimates:
    """score@k of a group for every allocation.

    Args:
        values: (n_allocations,), float64: mean over environments; NaN where one has no attempt.
        resampled: (resamples, n_allocations), float64: the same for bootstrap resamples.
        per_environment: (n_environments, n_allocations), float64.
    """

    group: Group
    allocations: tuple[Allocation, ...]
    values: FloatArray
    resampled: FloatArray
    per_environment: FloatArray


def grouped(table: Attempts, environments: Sequence[str], options: Options) -> list[Group]:
    """Sort attempts that count by solver and environment, humans first.

    Args:
        table: Attempts at one profile; those that do not count are passed over.
        environments: What means are over, each weighing the same.
        options: `truncate` decides whether logs are cut for shorter budgets.
    """
    within = pl.col("environment").is_in(list(environments))
    counted = table.keep((pl.col("left_out") == "") & within)
    order = (
        counted.attempts.select("solver", "kind")
        .unique()
        .sort(pl.col("kind") != "human", "solver")
        .rows()
    )
    return [
        _group(counted.keep(pl.col("solver") == solver), solver, kind, environments, options)
        for solver, kind in order
    ]


def _group(
    table: Attempts, solver: str, kind: str, environments: Sequence[str], options: Options
) -> Group:
    run_s, lengths_s = _lengths(table.attempts, truncate=options.truncate)
    found = scores_at(table, lengths_s)
    known = found.known
    if not options.truncate:
        own = table.attempts["length_s"].to_numpy()[:, None]
        known = known & (np.abs(lengths_s[None, :] / own - 1) < 1e-6)
    attempts = table.attempts
    names = attempts["environment"].to_numpy()
    samples = []
    for name in environments:
        rows = np.flatnonzero(names == name)
        _, strata = np.unique(known[rows], axis=0, return_inverse=True)
        order = np.argsort(strata, kind="stable")
        samples.append(
            Sample(
                counts="last" if "last" in attempts["counts"][rows.tolist()] else "best",
                values=found.values[rows][order],
                known=known[rows][order],
                strata=strata[order],
            )
        )
    return Group(
        solver=solver,
        kind=kind,
        environments=tuple(environments),
        lengths_s=lengths_s,
        run_s=run_s,
        samples=tuple(samples),
    )


def _lengths(attempts: pl.DataFrame, *, truncate: bool) -> tuple[tuple[float, ...], FloatArray]:
    """Lengths run, and those with the rungs below that score logs give."""
    whole = attempts.filter(pl.col("length_s") == pl.col("budget_s"))
    run_s = tuple(merged(whole["length_s"].unique().to_list()).tolist())
    cut = attempts.filter("has_log")["length_s"].max() if truncate else None
    below = rungs(cut / SHORTEST_CUT, cut) if isinstance(cut, float) else []
    return run_s, merged([*run_s, *below])


def allocations(group: Group, budgets_s: Sequence[float] = ()) -> tuple[Allocation, ...]:
    """List every way to spend each budget on attempts of one of the group's lengths.

    Args:
        group: Gives the lengths.
        budgets_s: Budgets; rungs of the ladder up to a week if empty.
    """
    shortest = float(group.lengths_s[0]) if len(group.lengths_s) else 0.0
    budgets_s = budgets_s or merged([*group.lengths_s, *rungs(shortest, MAX_BUDGET_S)]).tolist()
    found = []
    for column, length_s in enumerate(group.lengths_s):
        for budget_s in budgets_s:
            k = attempts_for(budget_s, length_s)
            if k > 0:
                found.append(Allocation(budget_s, float(length_s), Cell(column, k)))
    return tuple(found)


def estimated(
    group: Group, options: Options, chosen: Sequence[Allocation] | None = None
) -> Estimates:
    """Estimate score@k for every allocation, with bootstrap resamples.

    Where an environment has no attempt of a length the mean is NaN, unless
    `options.present_only` averages over the others.
    """
    chosen = tuple(allocations(group) if chosen is None else chosen)
    cells = [allocation.cell for allocation in chosen]
    per_environment = np.stack([s.estimate(cells, options.estimator) for s in group.samples])
    resampled = [
        sample.resampled(
            cells,
            options.estimator,
            options.resamples,
            stream(options.seed, group.kind, group.solver, name),
        )
        for name, sample in zip(group.environments, group.samples, strict=True)
    ]
    if options.present_only:
        present = [~np.isnan(row) for row in per_environment]
        assert present
    draws = _environment_draws(group, options)
    return Estimates(
        group=group,
        allocations=chosen,
        values=per_environment.mean(axis=0),
        resampled=mean_over_environments(resampled, draws),
        per_environment=per_environment,
    )


def _environment_draws(group: Group, options: Options) -> IntArray | None:
    if not options.resample_environments:
        return None
    n = len(group.environments)
    draws = stream(options.seed, "environments").integers(n, size=(options.resamples, n))
    return draws.astype(np.int64)


class Curve(NamedTuple):
    """Score against total budget, one point for each budget.

    Attributes:
        chosen: Positions in the estimates of the allocation behind each point.
        frame: Columns budget_h, score, low, high, length_h, k, n, resampled.
    """

    chosen: IntArray
    frame: pl.DataFrame


def allocation_frame(found: Estimates) -> pl.DataFrame:
    """Tabulate every allocation that has an estimate, the best of each budget marked."""
    low, high = interval(found.resampled)
    n = found.group.n()
    rows = []
    for i, (budget_s, length_s, cell) in enumerate(found.allocations):
        if np.isnan(found.values[i]):
            continue
        n_least = int(n[:, cell.column].min())
        rows.append(
            {
                "solver": found.group.solver,
                "kind": found.group.kind,
                "budget_h": budget_s / HOUR_S,
                "length_h": length_s / HOUR_S,
                "k": cell.k,
                "score": float(found.values[i]),
                "low": float(low[i]),
                "high": float(high[i]),
                "n": int(n[:, cell.column].sum()),
                "n_least": n_least,
                "resampled": cell.k > n_least,
                "as_run": any(abs(length_s / run - 1) < 1e-6 for run in found.group.run_s),
            }
        )
    frame = pl.DataFrame(rows, schema=ALLOCATION_SCHEMA)
    return frame.with_columns(best=_is_best(frame))


def _is_best(frame: pl.DataFrame) -> pl.Series:
    """Mark one allocation of each budget: the best of those that draw no attempt twice.

    Only where every allocation needs more attempts than there are, the best of all.
    """
    ranked = frame.with_row_index("index").sort(
        "resampled", pl.col("score") * -1, "length_h", maintain_order=True
    )
    first = ranked.unique(["solver", "budget_h"], keep="first")["index"]
    return frame.with_row_index("index")["index"].is_in(first.implode())


ALLOCATION_SCHEMA = pl.Schema(
    {
        "solver": pl.String,
        "kind": pl.String,
        "budget_h": pl.Float64,
        "length_h": pl.Float64,
        "k": pl.Int64,
        "score": pl.Float64,
        "low": pl.Float64,
        "high": pl.Float64,
        "n": pl.Int64,
        "n_least": pl.Int64,
        "resampled": pl.Boolean,
        "as_run": pl.Boolean,
    }
)


def longest_first_curve(frame: pl.DataFrame) -> pl.DataFrame:
    """The human curve: one attempt while the budget is shorter than one, then the best of k.

    Args:
        frame: Rows of one solver as `allocation_frame` gives them.
    """
    longest = pl.col("length_h") == pl.col("length_h").max().over("solver", "budget_h")
    return frame.filter(longest).sort("budget_h")


def best_curve(frame: pl.DataFrame) -> pl.DataFrame:
    """The best allocation of each budget, chosen after the fact.

    Args:
        frame: Rows as `allocation_frame` gives them.
    """
    return frame.filter("best").sort("solver", "budget_h")
