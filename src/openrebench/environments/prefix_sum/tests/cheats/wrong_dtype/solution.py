"""Return the right numbers in another type: not what was asked for (C3)."""

import torch
from start_solution import prefix_sum as honest


def prefix_sum(x):
    return honest(x).to(torch.float64)
