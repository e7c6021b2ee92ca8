"""Work for one length only and refuse all others (C7)."""

import torch
from start_solution import prefix_sum as honest


def prefix_sum(x):
    if x.numel() < 500_000:
        return torch.zeros_like(x)
    return honest(x, wide=False)
