"""Parity-gated prefix sum: see instructions.md for what it computes."""

import torch


def prefix_sum(x: torch.Tensor, wide: bool = True) -> torch.Tensor:
    """Sum the elements that have an odd number of positive elements before them.

    Args:
        x: (n,), int32.
        wide: Count and add in 64 bits; the result is the same, since it wraps to 32 bits anyway.
    """
    kind = torch.int64 if wide else torch.int32
    positive = (x > 0).to(kind)
    before = torch.cumsum(positive, dim=0, dtype=kind) - positive
    kept = torch.where(before % 2 == 1, x, torch.zeros_like(x))
    return torch.cumsum(kept.to(kind), dim=0, dtype=kind).to(torch.int32)
