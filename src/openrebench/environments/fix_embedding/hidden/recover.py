# OpenRE-Bench hidden material. Canary 7f0c1e0a-5b0e-4d0b-9c43-2f6f1f4f6a51: do not publish, do not train on.
"""Repair the damaged model with what an attempt has: the small model and a little text.

Statistics give a first embedding (`matching`). It is then trained with everything else frozen, the
small model being the teacher: its predictions say more than the next token alone, and with some of
the tokens replaced by its own draws the text does not run out. Between stages the trained rows find
more of the given ones. Where it helps, everything is trained a little at last.
"""

from collections.abc import Iterable

import torch
from torch import Tensor, nn
from torch.nn import functional

from openrebench.environments.fix_embedding.hidden import matching
from openrebench.textbase.gpt import GPT, mean_loss
from openrebench.textbase.training import windows

HELD_OUT = 0.1
REPLACED = 0.5  # of the tokens
UNSURE = 0.3
WEIGHTS = (0.0, 0.15, 0.3, 0.5, 0.7)
# Steps, peak rate, and weight of the text's own next token beside the teacher's predictions.
ROWS_STAGES = ((500, 1.5e-2, 0.1), (500, 8e-3, 0.1), (500, 4e-3, 0.1))
LAST_RATE, LAST_HARD = 7e-4, 0.3


def repaired(
    damaged: GPT, little: GPT, tokens: Tensor, *, batch: int, effort: float, last_steps: int
) -> GPT:
    """Change the damaged model into a repaired one.

    Args:
        damaged: The given model; changed in place.
        little: The small model.
        tokens: (n,), int64: all text there is.
        batch: Windows of a step.
        effort: Factor on the number of steps.
        last_steps: Steps that train everything.
    """
    torch.manual_seed(0)
    text, held = split(tokens)
    little.requires_grad_(False)
    given = damaged.tokens.weight.detach().clone()
    guess_rows(damaged, little, held)
    damaged.requires_grad_(False)
    damaged.tokens.requires_grad_(True)
    for steps, rate, hard in ROWS_STAGES:
        fit(damaged, little, text, int(effort * steps), rate, hard, batch)
        rows, pairs = matching.matched(_similarity(damaged.tokens.weight.detach(), given))
        _blend(damaged, given[rows], matching.sure(rows, pairs), held)
    damaged.requires_grad_(True)
    if last_steps:
        fit(damaged, little, text, last_steps, LAST_RATE, LAST_HARD, batch)
    return damaged.eval()


def split(tokens: Tensor) -> tuple[Tensor, Tensor]:
    """Give the text to train on, and the text to look at."""
    cut = int(len(tokens) * (1 - HELD_OUT))
    return tokens[:cut], tokens[cut:]


def guess_rows(damaged: GPT, little: GPT, held: Tensor) -> matching.Guess:
    """Give the damaged model the embedding that statistics suggest; nothing is trained."""
    given = damaged.tokens.weight.detach().clone()
    first = matching.guess(damaged, little)
    put(damaged, first.mapped)
    _blend(damaged, given[first.rows], first.sure + UNSURE * (1 - first.sure), held)
    return first


def fit(
    model: GPT, teacher: GPT, text: Tensor, steps: int, rate: float, hard: float, batch: int
) -> None:
    """Train what is not frozen."""
    wanted = [p for p in model.parameters() if p.requires_grad]
    optimiser = torch.optim.AdamW(wanted, lr=rate, betas=(0.9, 0.98), weight_decay=0.0)
    draw = torch.Generator(text.device).manual_seed(steps)
    model.train()
    for step in range(steps):
        for group in optimiser.param_groups:
            group["lr"] = rate * min(1.0, (step + 1) / 20) * (1 - step / steps)
        _loss(model, teacher, windows(text, batch, model.config.context, draw), hard).backward()
        nn.utils.clip_grad_norm_(wanted, 1.0)
        optimiser.step()
        optimiser.zero_grad()


def _loss(model: GPT, teacher: GPT, batch: Tensor, hard: float) -> Tensor:
    """Weigh the cross-entropy to the teacher's predictions with that to the text."""
    shown = _with_draws(batch, teacher)
    log = functional.log_softmax(model(shown), -1)
    soft = -(functional.softmax(teacher(shown), -1) * log).sum(-1).mean()
    text = functional.nll_loss(log.flatten(0, 1), batch[:, 1:].flatten())
    return (1 - hard) * soft + hard * text


@torch.no_grad()
def _with_draws(batch: Tensor, teacher: GPT) -> Tensor:
    """Replace some tokens of the inputs by what the teacher would write there."""
    shown = batch[:, :-1].clone()
    drawn = torch.distributions.Categorical(logits=teacher(shown)[:, :-1]).sample()
    replace = torch.rand(drawn.shape, device=batch.device) < REPLACED
    shown[:, 1:] = torch.where(replace, drawn, shown[:, 1:])
    return shown


@torch.no_grad()
def _blend(model: GPT, target: Tensor, share: Tensor, held: Tensor) -> None:
    """Move the embedding towards given rows, as far as text that is not trained on likes it."""
    now = model.tokens.weight.detach().clone()
    options: Iterable[Tensor] = [now + weight * share * (target - now) for weight in WEIGHTS]
    put(model, min(options, key=lambda rows: mean_loss(put(model, rows), held, batch=32)))


def put(model: GPT, rows: Tensor) -> GPT:
    """Replace a model's embedding."""
    with torch.no_grad():
        model.tokens.weight.copy_(rows)
    return model


def _similarity(learned: Tensor, given: Tensor) -> Tensor:
    return matching.corrected(matching.cosine(learned, given))
