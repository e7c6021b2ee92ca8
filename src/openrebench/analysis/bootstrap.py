"""Bootstrap over attempts, vectorised: one gather, one sort and one matrix product a chunk.

Source:
    Percentile bootstrap over attempts inside each environment: Wijk et al. 2024,
    arXiv:2411.15114. Resampling environments too, and recentring the resamples of the unbiased
    estimator on its estimate, are this project's.
"""

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from openrebench.analysis.best_of_k import Counts, Estimator, weights

FloatArray = NDArray[np.float64]
BoolArray = NDArray[np.bool_]
IntArray = NDArray[np.int64]
CHUNK = 1 << 19  # scores in memory at a time
ONE_THREAD = 1 << 18  # multiplications up to which OpenBLAS starts no further thread
LEVEL = 0.95


class Cell(NamedTuple):
    """One way to spend a budget: k attempts of one length.

    Attributes:
        column: Which of the sample's lengths.
        k: Attempts.
        estimator: How score@k is estimated; "unbiased" falls back on plug-in where k > n.
    """

    column: int
    k: int
    estimator: Estimator = "unbiased"


@dataclass(frozen=True, kw_only=True)
class Sample:
    """Attempts of one solver at one environment.

    Args:
        counts: Which entry of a log is the score.
        values: (n_attempts, n_lengths), float64: normalised score at each length.
        known: (n_attempts, n_lengths), bool: which attempts have data for a length.
        strata: (n_attempts,), int64, ascending: attempts with equal numbers have data for the
            same lengths, and stand in for each other in a resample.
    """

    counts: Counts
    values: FloatArray
    known: BoolArray
    strata: IntArray

    @property
    def n(self) -> IntArray:
        """(n_lengths,), int64: attempts with data for each length."""
        return np.asarray(self.known.sum(axis=0), dtype=np.int64)

    def estimate(self, cells: Sequence[Cell]) -> FloatArray:
        """Estimate every cell from the attempts as they are: (n_cells,), NaN where n is 0."""
        identity = np.arange(len(self.strata))[None, :]
        return self._estimates(identity, cells).ravel()

    def resampled(
        self,
        cells: Sequence[Cell],
        resamples: int,
        rng: np.random.Generator,
    ) -> FloatArray:
        """Estimate every cell from resamples of the attempts.

        All cells of a resample see the same attempts, so that differences and the best of
        several cells have honest intervals. Any k attempts of a resample are k draws with
        replacement, so unbiased estimates of resamples average to the plug-in estimate; the
        difference, known exactly, is added back. Without that, intervals of large k lie too low.

        Returns:
            (resamples, n_cells), float64.
        """
        parts = [self._estimates(draws, cells) for draws in self._draws(resamples, rng)]
        plug_in = [cell._replace(estimator="plug_in") for cell in cells]
        shift = self.estimate(cells) - self.estimate(plug_in)
        return np.concatenate([np.empty((0, len(cells))), *parts]) + shift

    def _draws(self, resamples: int, rng: np.random.Generator) -> Iterator[IntArray]:
        """Yield (chunk, n_attempts) positions of attempts, drawn inside each stratum."""
        n = len(self.strata)
        _, first, sizes = np.unique(self.strata, return_index=True, return_counts=True)
        start, size = np.repeat(first, sizes), np.repeat(sizes, sizes)
        for done in range(0, resamples, chunk := max(1, CHUNK // max(n, 1))):
            uniform = rng.random((min(chunk, resamples - done), n))
            yield start + (uniform * size).astype(np.int64)

    def _estimates(self, draws: IntArray, cells: Sequence[Cell]) -> FloatArray:
        found = np.full((len(draws), len(cells)), np.nan)
        for column in sorted({cell.column for cell in cells}):
            members = np.flatnonzero(self.known[:, column])
            if len(members) == 0:
                continue
            drawn = np.sort(self.values[:, column][draws[:, members]], axis=1)
            where = [i for i, cell in enumerate(cells) if cell.column == column]
            each = [self._weights(len(members), cells[i]) for i in where]
            found[:, where] = _product(drawn, np.stack(each, axis=1))
        return found

    def _weights(self, n: int, cell: Cell) -> FloatArray:
        return weights(n, cell.k, cell.estimator, self.counts)


def _product(drawn: FloatArray, each: FloatArray) -> FloatArray:
    """Multiply matrices in blocks that BLAS gives to one thread.

    With more threads than free cores its threads wait for each other, and take several times
    as long.
    """
    rows = max(1, ONE_THREAD // each.size)
    return np.concatenate([drawn[i : i + rows] @ each for i in range(0, len(drawn), rows)])


def stream(seed: int, *labels: str) -> np.random.Generator:
    """Give the random stream for one purpose: adding a solver changes no other's interval.

    Example:
        >>> int(stream(0, "a").integers(1 << 30)) == int(stream(0, "a").integers(1 << 30))
        True
    """
    digest = hashlib.sha256("\0".join(labels).encode()).digest()
    return np.random.Generator(
        np.random.PCG64(np.random.SeedSequence([seed, *np.frombuffer(digest, dtype=np.uint32)]))
    )


def average(
    per_environment: Sequence[FloatArray] | FloatArray,
    *,
    present_only: bool = False,
    environment_draws: IntArray | None = None,
) -> FloatArray:
    """Average resampled estimates over environments, each with the same weight.

    Args:
        per_environment: For each environment (resamples, n_cells), float64; NaN where it has
            no attempt.
        present_only: Average over the environments that have attempts; else one without gives
            NaN.
        environment_draws: (resamples, n_environments), int64: which environments each resample
            holds; every environment once if None.

    Returns:
        (resamples, n_cells), float64; NaN where there is no mean.
    """
    stacked = np.stack(list(per_environment), axis=1)
    if environment_draws is not None:
        stacked = np.take_along_axis(stacked, environment_draws[:, :, None], axis=1)
    if not present_only:
        return np.asarray(stacked.mean(axis=1))
    present = ~np.isnan(stacked)
    count = present.sum(axis=1)
    total = np.where(present, stacked, 0.0).sum(axis=1)
    return np.where(count > 0, total / np.maximum(count, 1), np.nan)


def interval(resampled: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Give the bounds of the 95 % percentile interval of each column.

    Args:
        resampled: (resamples, n_cells), float64.

    Returns:
        Lower and upper bounds, each (n_cells,), float64.
    """
    tail = 100 * (1 - LEVEL) / 2
    low, high = np.nanpercentile(resampled, [tail, 100 - tail], axis=0, method="inverted_cdf")
    return low, high
