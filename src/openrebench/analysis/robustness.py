"""How much a result hangs on a choice or on a single attempt."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import get_args

import numpy as np
import polars as pl
from numpy.typing import NDArray

from openrebench.analysis.bootstrap import Cell, Sample
from openrebench.analysis.budgets import Estimates
from openrebench.analysis.groups import Group, grouped
from openrebench.analysis.marks import prepared
from openrebench.analysis.options import HOUR_S, Flagged, Options
from openrebench.analysis.table import Attempts

FloatArray = NDArray[np.float64]


def mean_score(group: Group, cell: Cell) -> float:
    """score@k of one allocation, averaged over environments; NaN where one has no attempt."""
    return float(np.mean([sample.estimate([cell])[0] for sample in group.samples]))


def flag_treatments(
    unprepared: Attempts, environments: Sequence[str], options: Options
) -> pl.DataFrame:
    """Compare the three treatments of flagged attempts: failure, dropped, as scored.

    Args:
        unprepared: The table before `prepared`.
        environments: What the mean is over.
        options: Everything else about the analysis.

    Returns:
        One row for each solver and treatment: score@1 at the longest length run, n, and how
        many attempts are flagged.
    """
    rows = []
    for treatment in get_args(Flagged):
        chosen = replace(options, flagged=treatment)
        table = prepared(unprepared, chosen)
        for group in grouped(table, environments, chosen):
            column = len(group.lengths_s) - 1
            members = table.attempts[np.concatenate(group.rows).tolist()]
            rows.append(
                {
                    "solver": group.solver,
                    "kind": group.kind,
                    "treatment": treatment,
                    "length_h": float(group.lengths_s[column]) / HOUR_S,
                    "score": _or_none(mean_score(group, Cell(column, 1))),
                    "n": int(group.n()[:, column].sum()),
                    "flagged": int((members["flags"] != "").sum()),
                }
            )
    return pl.DataFrame(rows, schema=TREATMENT_SCHEMA).sort("kind", "solver", "treatment")


TREATMENT_SCHEMA = pl.Schema(
    {
        "solver": pl.String,
        "kind": pl.String,
        "treatment": pl.String,
        "length_h": pl.Float64,
        "score": pl.Float64,
        "n": pl.Int64,
        "flagged": pl.Int64,
    }
)


def influence(table: Attempts, found: Estimates) -> pl.DataFrame:
    """Say how far each allocation falls without the single attempt that it hangs on most.

    Returns:
        One row for each budget's best allocation: score, score without that attempt, which
        attempt it is and its own score.
    """
    rows = []
    for budget_s in found.budgets_s:
        position = found.best_at(float(budget_s))
        cell = found.allocations[position].cell
        drops = [_without_best(sample, cell) for sample in found.group.samples]
        most = int(np.argmax([before - after for before, after, _ in drops]))
        before, after, index = drops[most]
        row = int(found.group.rows[most][index])
        rows.append(
            {
                "solver": found.group.solver,
                "budget_h": float(budget_s) / HOUR_S,
                "k": cell.k,
                "score": float(found.values[position]),
                "without": float(found.values[position]) - (before - after) / len(drops),
                "attempt": table.attempts["attempt"][row],
                "environment": found.group.environments[most],
                "attempt_score": float(found.group.samples[most].values[index, cell.column]),
            }
        )
    return pl.DataFrame(rows)


def _without_best(sample: Sample, cell: Cell) -> tuple[float, float, int]:
    """score@k with all attempts, and without the best, and which one that is."""
    known = np.flatnonzero(sample.known[:, cell.column])
    before = float(sample.estimate([cell])[0])
    if len(known) < 2:
        return before, before, int(known[0]) if len(known) else 0
    best = int(known[np.argmax(sample.values[known, cell.column])])
    rest = np.delete(np.arange(len(sample.strata)), best)
    without = replace(
        sample, values=sample.values[rest], known=sample.known[rest], strata=sample.strata[rest]
    )
    return before, float(without.estimate([cell])[0]), best


def sensitivity(table: Attempts, groups: Sequence[Group], cells: Sequence[Cell]) -> pl.DataFrame:
    """Recompute means under other normalisations.

    as is; capped at 1; human = 1 (each environment divided by the mean human score); rank
    (the share of all attempts at the environment that are worse); anchors off (start and
    reference moved by their spread, both ways).

    Args:
        table: Prepared attempts.
        groups: Solvers, at the same environments.
        cells: For each group the allocation to compare.
    """
    pooled = [_pooled(groups, cells, i) for i in range(len(groups[0].environments))]
    human = [_human_mean(groups, cells, i) for i in range(len(groups[0].environments))]
    spread = _spreads(table, groups[0].environments)
    rows = []
    for group, cell in zip(groups, cells, strict=True):
        for name, change in _changes(pooled, human, spread).items():
            samples = tuple(
                replace(sample, values=change(sample.values, i))
                for i, sample in enumerate(group.samples)
            )
            value = mean_score(replace(group, samples=samples), cell)
            rows.append({"solver": group.solver, "normalisation": name, "score": _or_none(value)})
    schema = {"solver": pl.String, "normalisation": pl.String, "score": pl.Float64}
    return pl.DataFrame(rows, schema=schema)


Change = Callable[[FloatArray, int], FloatArray]


def _changes(
    pooled: list[FloatArray], human: list[float], spread: list[float]
) -> dict[str, Change]:
    def ranked(values: FloatArray, i: int) -> FloatArray:
        return np.searchsorted(pooled[i], values) / max(len(pooled[i]), 1)

    def shifted(values: FloatArray, i: int, sign: float) -> FloatArray:
        moved = (values - sign * spread[i]) / (1 - 2 * sign * spread[i])
        return np.where(values > 0, np.maximum(moved, 0.0), 0.0)

    return {
        "as is": lambda values, i: values,
        "capped at 1": lambda values, i: np.minimum(values, 1.0),
        "human = 1": lambda values, i: values / human[i],
        "rank": ranked,
        "anchors off, start better": lambda values, i: shifted(values, i, 1.0),
        "anchors off, start worse": lambda values, i: shifted(values, i, -1.0),
    }


def _pooled(groups: Sequence[Group], cells: Sequence[Cell], i: int) -> FloatArray:
    """Sorted scores of all solvers at one environment."""
    found = [
        group.samples[i].values[group.samples[i].known[:, cell.column], cell.column]
        for group, cell in zip(groups, cells, strict=True)
    ]
    return np.sort(np.concatenate(found))


def _human_mean(groups: Sequence[Group], cells: Sequence[Cell], i: int) -> float:
    """Mean human score at one environment; NaN without humans or where it is 0."""
    for group, cell in zip(groups, cells, strict=True):
        known = group.samples[i].known[:, cell.column]
        if group.kind == "human" and known.any():
            mean = float(group.samples[i].values[known, cell.column].mean())
            return mean if mean > 0 else float("nan")
    return float("nan")


def _spreads(table: Attempts, environments: Sequence[str]) -> list[float]:
    """Spread of the anchors of each environment; NaN where it was never measured."""
    found = dict(table.attempts.group_by("environment").agg(pl.col("anchor_spread").max()).rows())
    return [float("nan") if (s := found.get(name)) is None else float(s) for name in environments]


def _or_none(value: float) -> float | None:
    return None if np.isnan(value) else value
