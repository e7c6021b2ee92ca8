"""The loss as a smooth function of width and iterations near a budget, from a real sweep.

    hidden/surface-<name>.json    mean-able losses of every cell, seed by seed, and their provenance

    L(x, y) = sum_k a_k x^k + y (b_0 + b_1 x),  x = ln(width / middle),  y = ln(FLOP / budget)

fitted by least squares to the cells' means. Its error, as stated by `Surface.error`, is what it
misses a cell by when the whole width is left out of the fit.
"""

import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from openrebench.environments.scaling_law.recipe import HEAD_WIDTH, Family

Floats = NDArray[np.float64]
DEGREE = 4


@dataclass(frozen=True, kw_only=True)
class Cells:
    """A sweep.

    Args:
        widths: (n,).
        iterations: (n,).
        losses: (n, seeds), nats.
    """

    widths: Floats
    iterations: Floats
    losses: Floats

    @classmethod
    def load(cls, path: Path) -> "Cells":
        """Read the cells of a surface file."""
        cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
        return cls(
            widths=np.array([c["n_embd"] for c in cells], float),
            iterations=np.array([c["max_iters"] for c in cells], float),
            losses=np.array([c["losses"] for c in cells], float),
        )

    def without(self, width: float) -> "Cells":
        """Leave out a width."""
        kept = self.widths != width
        return Cells(
            widths=self.widths[kept], iterations=self.iterations[kept], losses=self.losses[kept]
        )

    @property
    def seed_spread(self) -> float:
        """Standard deviation of single runs of a cell, over all cells."""
        return float(np.sqrt(self.losses.var(axis=1, ddof=1).mean()))


@dataclass(frozen=True, kw_only=True)
class Surface:
    """A fitted surface.

    Args:
        family: What the models share.
        budget: FLOP around which the sweep was made.
        middle: Width at x = 0.
        coefficients: (DEGREE + 3,): a_0 to a_DEGREE, b_0, b_1.
    """

    family: Family
    budget: float
    middle: float
    coefficients: Floats

    @classmethod
    def fit(cls, family: Family, budget: float, cells: Cells) -> "Surface":
        """Fit the means of cells."""
        middle = float(np.exp(np.log(cells.widths).mean()))
        empty = cls(family=family, budget=budget, middle=middle, coefficients=np.empty(0))
        rows = empty._terms(cells.widths, cells.iterations)
        found, *_ = np.linalg.lstsq(rows, cells.losses.mean(axis=1), rcond=None)
        return cls(family=family, budget=budget, middle=middle, coefficients=found)

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
        return np.stack([*(x**k for k in range(DEGREE + 1)), y, x * y], axis=1)


def errors_left_out(family: Family, budget: float, cells: Cells) -> Floats:
    """Give how far each inner cell's mean lies from a fit without its width: (n,), nats."""
    errors = np.zeros(len(cells.widths))
    for width in np.unique(cells.widths)[1:-1]:
        surface = Surface.fit(family, budget, cells.without(width))
        here = cells.widths == width
        fitted = surface.losses(cells.widths[here], cells.iterations[here])
        errors[here] = cells.losses[here].mean(axis=1) - fitted
    return errors
