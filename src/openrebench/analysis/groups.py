"""Attempts sorted by solver and environment, with their scores at every length of interest."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from openrebench.analysis.bootstrap import Sample
from openrebench.analysis.lengths import SAME, merged, rungs
from openrebench.analysis.options import Options
from openrebench.analysis.score_at_time import ScoresAt, scores_at
from openrebench.analysis.table import Attempts

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
SHORTEST_CUT = 32.0  # logs are cut down to this part of the longest attempt


@dataclass(frozen=True, kw_only=True)
class Group:
    """The attempts of one solver at the environments of a mean.

    Args:
        environments: Names, in the order of `samples`.
        lengths_s: (n_lengths,), float64, ascending: columns of the samples.
        run_s: Lengths that attempts were run for; others come from cutting score logs.
        samples: One for each environment; may hold no attempt.
        rows: For each environment (n_attempts,), int64: rows of the table of attempts, in the
            order of the sample.
    """

    solver: str
    kind: str
    environments: tuple[str, ...]
    lengths_s: FloatArray
    run_s: tuple[float, ...]
    samples: tuple[Sample, ...]
    rows: tuple[IntArray, ...]

    def n(self) -> IntArray:
        """Attempts with data: (n_environments, n_lengths), int64."""
        return np.stack([sample.n for sample in self.samples])

    def missing(self, column: int) -> list[str]:
        """Name the environments without an attempt of a length."""
        counts = self.n()[:, column]
        return [name for name, n in zip(self.environments, counts, strict=True) if n == 0]


@dataclass(frozen=True, kw_only=True)
class _Lengths:
    run_s: tuple[float, ...]
    all_s: FloatArray


def grouped(table: Attempts, environments: Sequence[str], options: Options) -> list[Group]:
    """Sort attempts that count by solver and environment, humans first.

    Args:
        table: Attempts at one profile; those that do not count are passed over.
        environments: What means are over, each weighing the same.
        options: `truncate` decides whether logs are cut for shorter budgets.
    """
    within = pl.col("environment").is_in(list(environments)) & (pl.col("left_out") == "")
    numbered = table.attempts.with_row_index("index").filter(within)
    parts = numbered.partition_by("solver", "kind", maintain_order=True)
    parts.sort(key=lambda part: (part["kind"][0] != "human", part["solver"][0]))
    lengths = [_lengths(part, truncate=options.truncate) for part in parts]
    every_s = merged([length_s for own in lengths for length_s in own.all_s])
    found = scores_at(table, every_s)
    groups = []
    for part, own in zip(parts, lengths, strict=True):
        columns = np.searchsorted(every_s, own.all_s * (1 - SAME))
        chosen = ScoresAt(found.values[:, columns], found.known[:, columns])
        if not options.truncate:
            chosen = _as_run(table, chosen, own.all_s)
        groups.append(_group(part, own, chosen, environments))
    return groups


def _as_run(table: Attempts, found: ScoresAt, lengths_s: FloatArray) -> ScoresAt:
    """Let attempts inform their own length only."""
    own = table.attempts["length_s"].to_numpy()[:, None]
    return ScoresAt(found.values, found.known & (np.abs(lengths_s[None, :] - own) <= SAME * own))


def _group(
    part: pl.DataFrame, lengths: _Lengths, found: ScoresAt, environments: Sequence[str]
) -> Group:
    samples, rows = [], []
    for name in environments:
        here = part.filter(pl.col("environment") == name)
        index = here["index"].to_numpy().astype(np.int64)
        order, strata = _strata(found.known[index])
        index = index[order]
        samples.append(
            Sample(
                counts="last" if (here["counts"] == "last").any() else "best",
                values=found.values[index],
                known=found.known[index],
                strata=strata,
            )
        )
        rows.append(index)
    return Group(
        solver=part["solver"][0],
        kind=part["kind"][0],
        environments=tuple(environments),
        lengths_s=lengths.all_s,
        run_s=lengths.run_s,
        samples=tuple(samples),
        rows=tuple(rows),
    )


def _strata(known: NDArray[np.bool_]) -> tuple[IntArray, IntArray]:
    """Order attempts so that those with data for the same lengths lie together."""
    if known.size == 0:
        return np.arange(len(known)), np.zeros(len(known), dtype=np.int64)
    _, strata = np.unique(known, axis=0, return_inverse=True)
    order = np.argsort(strata, kind="stable")
    return order, strata[order].astype(np.int64)


def _lengths(attempts: pl.DataFrame, *, truncate: bool) -> _Lengths:
    """Lengths run, and those with the rungs below that score logs give."""
    used = (pl.col("length_s") - pl.col("budget_s")).abs() <= SAME * pl.col("budget_s")
    run_s = merged(attempts.filter(used)["length_s"].unique().to_list())
    cut = attempts.filter("has_log")["length_s"].max() if truncate else None
    below = rungs(cut / SHORTEST_CUT, cut) if isinstance(cut, float) else []
    return _Lengths(run_s=tuple(run_s.tolist()), all_s=merged([*run_s, *below]))
