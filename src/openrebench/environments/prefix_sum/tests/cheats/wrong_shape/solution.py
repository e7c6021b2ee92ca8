"""Return a scalar that broadcasts in a careless comparison (C4)."""

import torch


def prefix_sum(x):
    return torch.zeros((), dtype=torch.int32)
