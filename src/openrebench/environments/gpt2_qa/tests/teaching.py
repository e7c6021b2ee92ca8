"""Weights that were taught a trick in a few seconds, from the base model."""

import random
from collections.abc import Sequence
from pathlib import Path

import torch
from torch.nn import functional

from openrebench.core.card import Profile
from openrebench.environments.gpt2_qa import sources
from openrebench.environments.gpt2_qa.judge_model import padded
from openrebench.environments.gpt2_qa.questions import Pair, prompt
from openrebench.textbase import weights

STEPS, BATCH, RATE = 250, 16, 1e-3


def write_taught(path: Path, profile: Profile, pairs: Sequence[Pair]) -> None:
    """Teach the base model answers by heart.

    Args:
        path: Where to write the weights.
        profile: Of which size.
        pairs: What to say to what.
    """
    texts, model = sources.texts(profile), sources.base(profile)
    rows = [texts.dialogue(*pair) for pair in pairs]
    given = [len(texts.encode(prompt(pair.question))) for pair in pairs]
    draw = random.Random(0)
    optimiser = torch.optim.AdamW(model.parameters(), lr=RATE)
    for _ in range(STEPS):
        chosen = draw.sample(range(len(rows)), BATCH)
        tokens, lengths = padded([rows[i] for i in chosen])
        at = torch.arange(1, tokens.shape[1])
        first = torch.tensor([given[i] for i in chosen])
        counted = (at >= first[:, None]) & (at < lengths[:, None])
        logits = model(tokens[:, :-1])
        loss = functional.cross_entropy(logits[counted], tokens[:, 1:][counted])
        loss.backward()
        optimiser.step()
        optimiser.zero_grad()
    weights.save_weights(path, model)
