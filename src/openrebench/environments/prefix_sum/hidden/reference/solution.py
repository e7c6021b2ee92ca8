# OpenRE-Bench hidden material. Canary 7f0c1e0a-5b0e-4d0b-9c43-2f6f1f4f6a51: do not publish, do not train on.
"""Reference solution: three passes in 32 bits over blocks that stay in the cache."""

import torch


def prefix_sum(x: torch.Tensor) -> torch.Tensor:
    odd = (x > 0).to(torch.int32)
    torch.cumsum(odd, 0, dtype=torch.int32, out=odd)
    gate = torch.zeros_like(x)
    torch.bitwise_and(odd[:-1], 1, out=gate[1:])
    gate *= x
    return torch.cumsum(gate, 0, dtype=torch.int32, out=odd)
