"""Causal self-attention."""

import math

import torch
from torch import Tensor, nn
from torch.nn import functional as F


def causal_mask(length: int, device: torch.device) -> Tensor:
    """Give the mask of what a position may look at. (1, 1, t, t), True where it may."""
    mask = torch.ones(length, length, dtype=torch.bool, device=device).tril()
    return mask[None, None]


def eager_attention(query: Tensor, key: Tensor, value: Tensor, mask: Tensor) -> Tensor:
    """Attend step by step.

    Args:
        query, key, value: (b, heads, t, head_dim).
        mask: (b, 1, t, t), True where attending is allowed.
    """
    scores = torch.matmul(query, key.transpose(-1, -2)) / math.sqrt(query.shape[-1])
    minimum = torch.finfo(scores.dtype).min
    scores = scores.masked_fill(~mask, minimum)
    weights = torch.softmax(scores.float(), dim=-1).to(query.dtype)
    return torch.matmul(weights, value)


def torch_attention(query: Tensor, key: Tensor, value: Tensor, mask: Tensor) -> Tensor:
    """Attend through PyTorch's own kernels; arguments as for `eager_attention`."""
    return F.scaled_dot_product_attention(query, key, value, attn_mask=mask)


IMPLEMENTATIONS = {"eager": eager_attention, "torch": torch_attention}


class CausalSelfAttention(nn.Module):
    """Multi-head attention in which no position sees later ones, nor padding."""

    def __init__(self, d_model: int, n_heads: int, attn_impl: str) -> None:
        super().__init__()
        if attn_impl not in IMPLEMENTATIONS:
            raise ValueError(f"attn_impl '{attn_impl}': known are {', '.join(IMPLEMENTATIONS)}")
        self.n_heads = n_heads
        self.attend = IMPLEMENTATIONS[attn_impl]
        self.Wqkv = nn.Linear(d_model, 3 * d_model, bias=False)
        self.out_proj = nn.Linear(d_model, d_model, bias=False)

    def split_heads(self, x: Tensor) -> Tensor:
        b, t, d = x.shape
        return x.view(b, t, self.n_heads, d // self.n_heads).transpose(1, 2).contiguous()

    def forward(self, x: Tensor, attention_mask: Tensor) -> Tensor:
        """(b, t, d_model) and the padding mask (b, t) to (b, t, d_model)."""
        b, t, d = x.shape
        query, key, value = self.Wqkv(x).chunk(3, dim=-1)
        query, key, value = (self.split_heads(part) for part in (query, key, value))
        mask = causal_mask(t, x.device) & attention_mask[:, None, None, :]
        # A padded position may look at itself, so that no row of the softmax is empty.
        mask = mask | torch.eye(t, dtype=torch.bool, device=x.device)[None, None]
        out = self.attend(query, key, value, mask)
        return self.out_proj(out.transpose(1, 2).contiguous().view(b, t, d))
