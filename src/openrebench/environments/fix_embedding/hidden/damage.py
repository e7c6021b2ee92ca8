# OpenRE-Bench hidden material. Canary 7f0c1e0a-5b0e-4d0b-9c43-2f6f1f4f6a51: do not publish, do not train on.
"""What is done to the large model. Apart from environment.py, since solvers may read that."""

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from openrebench.core.seed import Seed
from openrebench.textbase.gpt import GPT

EMBEDDING = "tokens.weight"


def damaged(model: GPT, seed: Seed) -> dict[str, Tensor]:
    """Give the weights with the rows of the token embedding in a secret order."""
    weights = dict(model.state_dict())
    weights[EMBEDDING] = weights[EMBEDDING][order(model, seed)]
    return weights


def order(model: GPT, seed: Seed) -> NDArray[np.int64]:
    """Give the secret order: row `order[i]` goes to place i."""
    return seed.rng("permutation").permutation(model.config.vocabulary)
