"""Train the base models: plain AdamW on random windows, on a GPU or, patiently, a CPU.

Needs torch, so import it only where a model is really trained.
"""

import math
import time
from dataclasses import dataclass
from typing import Any, NamedTuple

import torch
from torch import Tensor

from openrebench.textbase.gpt import GPT, GPTConfig, mean_loss

BETAS = (0.9, 0.95)
CLIP_NORM = 1.0
WARM_UP_STEPS = 200
LAST_RATE = 0.02  # of the peak
CURVE_POINTS = 20


@dataclass(frozen=True, kw_only=True)
class Recipe:
    """All that decides a base model, besides the text.

    Args:
        config: Sizes of the model.
        steps: Optimiser steps.
        batch: Windows of a step.
        rate: Peak learning rate.
        decay: Weight decay.
        seed: Initial weights and order of the text.
    """

    config: GPTConfig
    steps: int
    batch: int
    rate: float
    decay: float = 0.1
    seed: int = 1


class Point(NamedTuple):
    """One point of a loss curve."""

    step: int
    train_loss: float
    dev_loss: float
    seconds: float


def train(recipe: Recipe, tokens: Tensor, dev: Tensor, device: str) -> tuple[GPT, list[Point]]:
    """Train a model from nothing.

    Args:
        recipe: What to train, and how.
        tokens: (n,), int64; windows are drawn anywhere in them.
        dev: (m,), int64; only looked at.
        device: `cuda` or `cpu`.

    Returns:
        The model, and its loss curve.
    """
    torch.manual_seed(recipe.seed)
    draw = torch.Generator(device).manual_seed(recipe.seed)
    model, tokens = GPT(recipe.config).to(device), tokens.to(device)
    optimiser = torch.optim.AdamW(
        _groups(model, recipe.decay), lr=recipe.rate, betas=BETAS, fused=True
    )
    step_loss = torch.compile(model.loss) if device == "cuda" else model.loss
    curve, started, every = [], time.monotonic(), max(1, recipe.steps // CURVE_POINTS)
    for step in range(1, recipe.steps + 1):
        for group in optimiser.param_groups:
            group["lr"] = recipe.rate * schedule(step, recipe.steps)
        batch = windows(tokens, recipe.batch, recipe.config.context, draw)
        with torch.autocast(device, torch.bfloat16, enabled=device == "cuda"):
            loss = step_loss(batch)
        torch.autograd.backward(loss)
        torch.nn.utils.clip_grad_norm_(model.parameters(), CLIP_NORM)
        optimiser.step()
        optimiser.zero_grad()
        if step % every == 0:
            dev_loss = mean_loss(model, dev, batch=64)
            curve.append(Point(step, loss.item(), dev_loss, time.monotonic() - started))
            model.train()
    return model.eval(), curve


def schedule(step: int, steps: int) -> float:
    """Give the learning rate at a step as a share of the peak: linear rise, cosine fall."""
    fall = 0.5 * (1 + math.cos(math.pi * step / steps))
    return min(1.0, step / WARM_UP_STEPS) * (LAST_RATE + (1 - LAST_RATE) * fall)


def windows(tokens: Tensor, count: int, context: int, draw: torch.Generator) -> Tensor:
    """Draw random windows.

    Returns:
        (count, context + 1), int64.
    """
    starts = torch.randint(len(tokens) - context, (count, 1), generator=draw, device=tokens.device)
    return tokens[starts + torch.arange(context + 1, device=tokens.device)]


def _groups(model: GPT, decay: float) -> list[dict[str, Any]]:
    """Decay matrices, not the gains of layer norms."""
    parameters = list(model.parameters())
    return [
        {"params": [p for p in parameters if p.dim() >= 2], "weight_decay": decay},
        {"params": [p for p in parameters if p.dim() < 2], "weight_decay": 0.0},
    ]
