# OpenRE-Bench hidden material. Canary 7f0c1e0a-5b0e-4d0b-9c43-2f6f1f4f6a51: do not publish, do not train on.
"""The oracle on the device, for outputs too large to compare on the host."""

import torch


def prefix_sum(x: torch.Tensor) -> torch.Tensor:
    """Compute the parity-gated prefix sum exactly; (n,), int32, on x's device."""
    positive = (x > 0).to(torch.int32)
    before = torch.cumsum(positive, 0, dtype=torch.int32) - positive
    return torch.cumsum(x * (before & 1), 0, dtype=torch.int32)
