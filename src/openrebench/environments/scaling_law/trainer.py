"""Train one model of the family from nothing: the experiment that is metered.

Needs torch, so import it only where a model is really trained.
"""

from functools import cache
from pathlib import Path

import torch
from torch import Tensor

from openrebench.environments.scaling_law.recipe import (
    BETAS,
    CLIP_NORM,
    DECAY,
    HEAD_WIDTH,
    Family,
    schedule,
)
from openrebench.textbase import build
from openrebench.textbase.gpt import GPT, GPTConfig, mean_loss
from openrebench.textbase.tokens import load_tokens

VALIDATION_TOKENS = 65_536


def train(
    family: Family, *, n_embd: int, max_iters: int, rate: float, seed: int, device: str
) -> float:
    """Train a model and give its validation loss in nats.

    Args:
        family: What all runs share.
        n_embd: Width, a multiple of 8.
        max_iters: Steps of the optimiser.
        rate: Peak learning rate.
        seed: Initial weights and order of the text.
        device: `cpu` or `cuda`.
    """
    model = initial_model(family, n_embd, seed).to(device)
    optimiser = torch.optim.AdamW(_groups(model), lr=rate, betas=BETAS, fused=True)
    tokens, reach = text("base").to(device), torch.arange(family.context + 1, device=device)
    for step, starts in enumerate(order(family, max_iters, seed).to(device), start=1):
        for group in optimiser.param_groups:
            group["lr"] = rate * schedule(step, max_iters)
        loss = model.loss(tokens[starts[:, None] + reach])
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), CLIP_NORM)
        optimiser.step()
        optimiser.zero_grad()
    return mean_loss(model, text("dev")[:VALIDATION_TOKENS], batch=64)


def initial_model(family: Family, n_embd: int, seed: int) -> GPT:
    """Make a model's initial weights; equal seeds give equal weights."""
    config = GPTConfig(
        vocabulary=build.VOCABULARY,
        context=family.context,
        layers=family.layers,
        heads=n_embd // HEAD_WIDTH,
        width=n_embd,
    )
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return GPT(config)


def order(family: Family, steps: int, seed: int) -> Tensor:
    """Draw where the windows of every step begin.

    Returns:
        (steps, batch), int64; equal seeds give equal orders.
    """
    draw = torch.Generator().manual_seed(seed)
    return torch.randint(len(text("base")) - family.context, (steps, family.batch), generator=draw)


@cache
def text(split: str) -> Tensor:
    """Read the tokens of a split that ships, `base` or `dev`.

    Returns:
        (n,), int64.
    """
    path = Path(build.HERE) / "data" / f"{split}.xz"
    return torch.from_numpy(load_tokens(path).astype("int64"))


def _groups(model: GPT) -> list[dict[str, object]]:
    """Decay matrices, not the gains of layer norms."""
    parameters = list(model.parameters())
    return [
        {"params": [p for p in parameters if p.dim() >= 2], "weight_decay": DECAY},
        {"params": [p for p in parameters if p.dim() < 2], "weight_decay": 0.0},
    ]
