"""Compute the first tenth only (C4)."""

import torch
from start_solution import prefix_sum as honest


def prefix_sum(x):
    y = torch.zeros_like(x)
    tenth = x.numel() // 10 + 1
    y[:tenth] = honest(x[:tenth])
    return y
