"""Larger base models for the `gpu` profiles, made on this machine's GPU in a few minutes."""

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from openrebench.core.card import Profile
from openrebench.errors import ReBenchError
from openrebench.textbase import assets

if TYPE_CHECKING:
    from openrebench.textbase.gpt import GPT

NAMES = {"large": "gpu_large", "little": "gpu_little"}


def missing(profile: Profile) -> str | None:
    """Say in one sentence which base models were not made yet, or None."""
    absent = [name for name in NAMES.values() if not _file(name).is_file()]
    if not absent:
        return None
    return (
        f"base models {' and '.join(absent)} were not made on this machine; "
        "run: re-bench assets fix_embedding/gpu"
    )


def _file(name: str) -> Path:
    return assets.cache_folder() / f"{name}.safetensors"


def model(which: str) -> "GPT":
    """Load the `large` or `little` model from the cache.

    Raises:
        ReBenchError: It was not made.
    """
    from openrebench.textbase import recipes, weights

    path = _file(NAMES[which])
    if not path.is_file():
        raise ReBenchError(f"{path} is missing; run: re-bench assets fix_embedding/gpu")
    return weights.load_model(path, recipes.RECIPES[NAMES[which]].config)


def make() -> None:
    """Train the models that are missing.

    Raises:
        ReBenchError: There is no GPU.
    """
    import torch

    from openrebench.textbase import recipes, training, weights

    if not torch.cuda.is_available():
        raise ReBenchError("base models of the gpu profile are trained on a GPU; none was found")
    base, dev = (torch.from_numpy(assets.split(n).astype(np.int64)) for n in ("base", "dev"))
    for name in NAMES.values():
        path = _file(name)
        if not path.is_file():
            trained, _ = training.train(recipes.RECIPES[name], base, dev, "cuda")
            weights.save_weights(path, trained)
