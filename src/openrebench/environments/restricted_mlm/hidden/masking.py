# OpenRE-Bench hidden material. Canary 7f0c1e0a-5b0e-4d0b-9c43-2f6f1f4f6a51: do not publish, do not train on.
"""Which positions of the hidden text are masked.

The same for every submission, so that scores can be compared pair by pair and no call is luckier
than another.
"""

import zlib
from collections.abc import Iterator

import torch
from torch import Tensor

from openrebench.core.card import Profile

SALT = "5d1f6c0b7e"


def masked(tokens: Tensor, profile: Profile, split: str) -> Iterator[tuple[Tensor, Tensor, Tensor]]:
    """Yield batches of (tokens, tokens with masks, where they are masked), each (batch, positions).

    Rows come in a random order: a model that looks across its batch finds no continuation of a row.

    Args:
        tokens: (n,), int64.
        profile: Gives sizes, the mask token and the share to mask.
        split: Makes the masks of the splits differ.
    """
    positions, batch = profile.integer("positions"), profile.integer("batch")
    count = min(profile.integer("sequences"), len(tokens) // positions) // batch * batch
    rows = tokens[: count * positions].view(count, positions)
    draw = torch.Generator().manual_seed(zlib.crc32(f"{SALT} {split} {positions}".encode()))
    mask = torch.rand(rows.shape, generator=draw) * 100 < profile.integer("mask_percent")
    shuffled = torch.randperm(count, generator=draw)
    rows, mask = rows[shuffled], mask[shuffled]
    shown = rows.masked_fill(mask, profile.integer("mask_token"))
    yield from zip(rows.split(batch), shown.split(batch), mask.split(batch), strict=True)
