"""Norms, activations and blocks."""

import math

import torch
from torch import Tensor, nn

from foundry.models.attention import CausalSelfAttention

NORM_EPS = 1e-5


class LPLayerNorm(nn.Module):
    """A layer norm without bias that computes in fp32 whatever comes in."""

    def __init__(self, d_model: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(d_model))

    def forward(self, x: Tensor) -> Tensor:
        dtype = x.dtype
        x = x.float()
        mean = x.mean(dim=-1, keepdim=True)
        variance = (x - mean).pow(2).mean(dim=-1, keepdim=True)
        x = (x - mean) / torch.sqrt(variance + NORM_EPS)
        return (x * self.weight.float()).to(dtype)


class NewGELU(nn.Module):
    """The tanh approximation of GELU, as in GPT-2."""

    def forward(self, x: Tensor) -> Tensor:
        inner = math.sqrt(2.0 / math.pi) * (x + 0.044715 * torch.pow(x, 3.0))
        return 0.5 * x * (1.0 + torch.tanh(inner))


class FeedForward(nn.Module):
    """Two linear layers with a GELU between."""

    def __init__(self, d_model: int, expansion_ratio: int) -> None:
        super().__init__()
        self.up_proj = nn.Linear(d_model, expansion_ratio * d_model, bias=False)
        self.act = NewGELU()
        self.down_proj = nn.Linear(expansion_ratio * d_model, d_model, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        return self.down_proj(self.act(self.up_proj(x)))


class Block(nn.Module):
    """Attention and feed-forward, each normed first and added to its input."""

    def __init__(self, d_model: int, n_heads: int, expansion_ratio: int, attn_impl: str) -> None:
        super().__init__()
        self.norm_1 = LPLayerNorm(d_model)
        self.attn = CausalSelfAttention(d_model, n_heads, attn_impl)
        self.norm_2 = LPLayerNorm(d_model)
        self.ffn = FeedForward(d_model, expansion_ratio)

    def forward(self, x: Tensor, attention_mask: Tensor) -> Tensor:
        x = x + self.attn(self.norm_1(x), attention_mask)
        return x + self.ffn(self.norm_2(x))
