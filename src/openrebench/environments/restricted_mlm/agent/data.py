"""Training text: `tokens.bin` holds uint16 tokens, the last tenth of it is kept for checking."""

import json

import numpy as np
import torch

SIZES = json.load(open("sizes.json"))
MASK = SIZES["mask_token"]
POSITIONS = SIZES["positions"]
SHARE = SIZES["mask_percent"] / 100
HELD_OUT = 0.1


def load() -> tuple[torch.Tensor, torch.Tensor]:
    """Give training and held-out tokens, each (n,), int64."""
    tokens = torch.from_numpy(np.fromfile("tokens.bin", dtype="<u2").astype(np.int64))
    cut = int(len(tokens) * (1 - HELD_OUT))
    return tokens[:cut], tokens[cut:]


def batch(tokens: torch.Tensor, size: int) -> torch.Tensor:
    """Draw random windows: (size, positions)."""
    starts = torch.randint(len(tokens) - POSITIONS, (size, 1))
    return tokens[starts + torch.arange(POSITIONS)]


def masked(rows: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Hide some tokens. Gives the rows with masks, and where they are."""
    where = torch.rand(rows.shape) < SHARE
    return rows.masked_fill(where, MASK), where
