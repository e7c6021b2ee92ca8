"""Train the base model that `small` is finetuned from, and write `data/base.safetensors`.

Canary 7f0c1e0a-5b0e-4d0b-9c43-2f6f1f4f6a51

    python -m openrebench.environments.llm_foundry.hidden.make_base

Five minutes of one core. The task is about speed, so the base need not be a good one.
"""

import json
from pathlib import Path

import numpy as np
import torch

from openrebench.textbase import assets, weights
from openrebench.textbase.build import VOCABULARY
from openrebench.textbase.gpt import GPTConfig
from openrebench.textbase.training import Recipe, train

DATA = Path(__file__).parents[1] / "data"
RECIPE = Recipe(
    config=GPTConfig(vocabulary=VOCABULARY, context=160, layers=4, heads=4, width=128),
    steps=1000,
    batch=16,
    rate=3e-3,
)
DEV_TOKENS = 8_001


def main() -> None:
    """Train on the shipped text and store the weights in fp16, with the loss curve beside them."""
    torch.set_num_threads(1)
    base, dev = (torch.from_numpy(assets.split(n).astype(np.int64)) for n in ("base", "dev"))
    model, curve = train(RECIPE, base, dev[:DEV_TOKENS], "cpu")
    weights.save_weights(DATA / "base.safetensors", model)
    record = {"config": RECIPE.config.as_dict(), "curve": [point._asdict() for point in curve]}
    (DATA / "base.json").write_text(json.dumps(record, indent=1) + "\n")


if __name__ == "__main__":
    main()
