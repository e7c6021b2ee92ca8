# OpenRE-Bench hidden material. Canary 7f0c1e0a-5b0e-4d0b-9c43-2f6f1f4f6a51: do not publish, do not train on.
"""The fastest we have: one pass. Documents the headroom above the reference."""

import numba
import numpy as np
import torch


@numba.njit("void(int32[::1], int32[::1])")
def _scan(x, y):
    total, odd = np.int32(0), np.int32(0)
    for i in range(x.size):
        value = x[i]
        total += value * odd
        y[i] = total
        odd ^= np.int32(value > 0)


def prefix_sum(x: torch.Tensor) -> torch.Tensor:
    y = torch.empty_like(x)
    _scan(x.numpy(), y.numpy())
    return y
