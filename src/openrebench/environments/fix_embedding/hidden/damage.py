# OpenRE-Bench hidden material. Canary 7f0c1e0a-5b0e-4d0b-9c43-2f6f1f4f6a51: do not publish, do not train on.
"""What is done to the large model. Apart from environment.py, since solvers may read that.

The rows of the token embedding get a secret order. At sizes with `noise` above 0 they are blurred
too: a language model and some text are a cipher and its plain text, and where rows are exact,
statistics alone find the order (docs/decisions/0010). Blurred rows leave something to be learned
even by those who know the order.
"""

import math

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from openrebench.core.seed import Seed
from openrebench.textbase.gpt import GPT

EMBEDDING = "tokens.weight"


def damaged(model: GPT, seed: Seed, noise: float) -> dict[str, Tensor]:
    """Give the weights with the rows of the token embedding blurred, in a secret order.

    Args:
        model: The intact one.
        seed: Gives order and noise.
        noise: Share of each row's deviation from the mean row that is noise, from 0 to 1,
            as in `blurred`.
    """
    weights = dict(model.state_dict())
    rows = weights[EMBEDDING]
    if noise:
        rows = blurred(rows, seed, noise)
    weights[EMBEDDING] = rows[order(model, seed)]
    return weights


def blurred(rows: Tensor, seed: Seed, noise: float) -> Tensor:
    """Mix rows with noise of the same mean and covariance, so that neither of them changes.

    Args:
        rows: (v, width).
        seed: Gives the noise.
        noise: The correlation of a blurred row with its original is sqrt(1 - noise**2).
    """
    mean = rows.mean(0)
    centred = rows - mean
    drawn = torch.from_numpy(seed.rng("noise").standard_normal((len(rows), len(rows))))
    # Random mixtures of all rows have the covariance of the rows.
    other = (drawn.to(rows.dtype) @ centred) / math.sqrt(len(rows))
    return mean + math.sqrt(1 - noise**2) * centred + noise * other


def order(model: GPT, seed: Seed) -> NDArray[np.int64]:
    """Give the secret order: row `order[i]` goes to place i."""
    return seed.rng("permutation").permutation(model.config.vocabulary)
