"""The loss as a smooth function of width and iterations near a budget, from a real sweep.

    hidden/surface-<name>.json    losses of every cell, seed by seed, and their provenance

    L(x, y) = sum_(k <= degree) a_k x^k + y (b_0 + b_1 x)
    x = ln(width / middle),  y = ln(FLOP / budget)

fitted by least squares to the cells' medians over seeds. Its error is what it misses a cell by when
the cell's whole width is left out of the fit (`errors_left_out`).
"""

import json
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from openrebench.environments.scaling_law.recipe import HEAD_WIDTH, Family

Floats = NDArray[np.float64]


@dataclass(frozen=True, kw_only=True)
class Cells:
    """A sweep.

    Args:
        widths: (n,).
        iterations: (n,).
        losses: (n, seeds), nats.
        degree: Of the polynomial in the width that is fitted.
    """

    widths: Floats
    iterations: Floats
    losses: Floats
    degree: int

    @classmethod
    def load(cls, path: Path) -> "Cells":
        """Read the cells of a surface file."""
        found = json.loads(path.read_text(encoding="utf-8"))
        cells = found["cells"]
        return cls(
            widths=np.array([c["n_embd"] for c in cells], float),
            iterations=np.array([c["max_iters"] for c in cells], float),
            losses=np.array([c["losses"] for c in cells], float),
            degree=found["degree"],
        )

    def without(self, width: float) -> "Cells":
        """Leave out a width."""
        kept = self.widths != width
        return replace(
            self,
            widths=self.widths[kept],
            iterations=self.iterations[kept],
            losses=self.losses[kept],
        )

    @property
    def centres(self) -> Floats:
        """Medians over seeds, which one diverged run does not move: (n,)."""
        centres: Floats = np.median(self.losses, axis=1)
        return centres

    @property
    def seed_spread(self) -> float:
        """Typical standard deviation of single runs of a cell: the median over all cells."""
        return float(np.median(self.losses.std(axis=1, ddof=1)))


@dataclass(frozen=True, kw_only=True)
class Surface:
    """A fitted surface.

    Args:
        family: What the models share.
        budget: FLOP around which the sweep was made.
        middle: Width at x = 0.
        coefficients: (degree + 3,): a_0 to a_degree, b_0, b_1.
    """

    family: Family
    budget: float
    middle: float
    coefficients: Floats

    @classmethod
    def fit(cls, family: Family, budget: float, cells: Cells) -> "Surface":
        """Fit the medians of cells."""
        middle = float(np.exp(np.log(np.unique(cells.widths)).mean()))
        empty = cls(
            family=family, budget=budget, middle=middle, coefficients=np.empty(cells.degree + 3)
        )
        rows = empty._terms(cells.widths, cells.iterations)
        found: Floats = np.linalg.lstsq(rows, cells.centres, rcond=None)[0].astype(np.float64)
        return replace(empty, coefficients=found)

    def loss(self, n_embd: int, max_iters: int) -> float:
        """Give the loss of one configuration in nats."""
        return float(self.losses(np.array([n_embd], float), np.array([max_iters], float))[0])

    def losses(self, widths: Floats, iterations: Floats) -> Floats:
        """Give the losses of configurations: (n,) and (n,) to (n,)."""
        found: Floats = self._terms(widths, iterations) @ self.coefficients
        return found

    def best(self, lowest: int, highest: int, share: float) -> tuple[float, int]:
        """Give the lowest loss of all widths at a share of the budget, and its width."""
        widths = np.arange(lowest, highest + 1, HEAD_WIDTH)
        steps = [self.family.iterations(int(d), share * self.budget) for d in widths]
        losses = self.losses(widths.astype(float), np.array(steps, float))
        return float(losses.min()), int(widths[losses.argmin()])

    def _terms(self, widths: Floats, iterations: Floats) -> Floats:
        flop = np.array([self.family.flop(int(d), 1) for d in widths]) * iterations
        x, y = np.log(widths / self.middle), np.log(flop / self.budget)
        return np.stack([*(x**k for k in range(len(self.coefficients) - 2)), y, x * y], axis=1)


def errors_left_out(family: Family, budget: float, cells: Cells) -> Floats:
    """Give how far each inner cell's median lies from a fit without its width: (n,), nats."""
    errors = np.zeros(len(cells.widths))
    for width in np.unique(cells.widths)[1:-1]:
        surface = Surface.fit(family, budget, cells.without(width))
        here = cells.widths == width
        fitted = surface.losses(cells.widths[here], cells.iterations[here])
        errors[here] = cells.centres[here] - fitted
    return errors
