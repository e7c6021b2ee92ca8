"""Weights that say one fixed thing, written down in closed form: no training, milliseconds."""

from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

import torch
from torch import Tensor

from openrebench.core.card import Profile
from openrebench.environments.gpt2_qa import sources
from openrebench.textbase import weights
from openrebench.textbase.gpt import GPT

GAIN = 40.0
SURE = 3.0  # makes the next token's logit 34


def write_chain(path: Path, profile: Profile, text: str, *, ended: bool = True) -> None:
    """Write weights that answer every question with a text, or with it over and over.

    Every token is followed by a fixed one, so no token of the text may stand there twice.

    Args:
        path: Where to.
        profile: Of which size.
        text: What is said.
        ended: Whether the answer ends after the text.
    """
    texts = sources.texts(profile)
    colon = texts.encode("Answer:")[-1]
    said = texts.encode(f" {text}")
    assert len(set(said)) == len(said) and colon not in said, text
    chain = [colon, *said, texts.end if ended else said[0]]
    weights.save_tensors(path, _chain(GPT(sources.config(profile)), chain))


def _chain(model: GPT, chain: Sequence[int]) -> dict[str, Tensor]:
    """Give each token of a chain a direction, and let the first block turn it into the next's."""
    found = {name: torch.zeros_like(value) for name, value in model.state_dict().items()}
    places = {token: k for k, token in enumerate(dict.fromkeys(chain))}
    for token, place in places.items():
        found["tokens.weight"][token, place] = SURE
    for token, following in pairwise(chain):
        found["blocks.0.up.weight"][places[token], places[token]] = 1.0
        found["blocks.0.down.weight"][places[following], places[token]] = GAIN
    for name in found:
        if "norm" in name:
            found[name] += 1.0
    return found
