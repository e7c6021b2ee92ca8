"""One pass over the numbers, compiled: what the recorded plans of the agents submit."""

import numba
import numpy as np
import torch


@numba.njit("void(int32[::1], int32[::1])", nogil=True)
def _scan(x: np.ndarray, y: np.ndarray) -> None:
    total, mask = np.int32(0), np.int32(0)
    for i in range(len(x)):
        value = x[i]
        total = np.int32(total + (value & mask))
        y[i] = total
        if value > 0:
            mask = np.int32(~mask)


def prefix_sum(x: torch.Tensor, out: torch.Tensor) -> torch.Tensor:
    _scan(x.numpy(), out.numpy())
    return out
