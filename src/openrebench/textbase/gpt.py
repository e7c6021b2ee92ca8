"""The one GPT of the trusted side: GPT-2's architecture, small enough to read in one go.

With `bias=True` it computes what the published GPT-2 computes, weight for weight; the models that
ship have no biases. Needs torch, so import it only where a model is really used.
"""

import math
from dataclasses import asdict, dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional

INITIAL_STD = 0.02


@dataclass(frozen=True, kw_only=True)
class GPTConfig:
    """Sizes of a GPT.

    Args:
        vocabulary: Number of tokens.
        context: Longest input, in tokens.
        layers: Number of blocks.
        heads: Attention heads of a block; divides `width`.
        width: Size of the residual stream.
        bias: Whether linear layers and layer norms have biases, as GPT-2's do.
        dropout: Share of activations zeroed while training.
    """

    vocabulary: int
    context: int
    layers: int
    heads: int
    width: int
    bias: bool = False
    dropout: float = 0.0

    def as_dict(self) -> dict[str, int | float | bool]:
        """Give the sizes as plain data."""
        return asdict(self)


class Attention(nn.Module):
    """Causal self-attention."""

    def __init__(self, config: GPTConfig) -> None:
        super().__init__()
        self.heads, self.dropout = config.heads, config.dropout
        self.qkv = nn.Linear(config.width, 3 * config.width, bias=config.bias)
        self.out = nn.Linear(config.width, config.width, bias=config.bias)

    def forward(self, x: Tensor) -> Tensor:
        """Let every position look at itself and those before it. (b, t, width) to the same."""
        b, t, width = x.shape
        split = self.qkv(x).view(b, t, 3, self.heads, width // self.heads)
        q, k, v = split.permute(2, 0, 3, 1, 4)
        dropout = self.dropout if self.training else 0.0
        mixed = functional.scaled_dot_product_attention(q, k, v, dropout_p=dropout, is_causal=True)
        joined: Tensor = self.out(mixed.transpose(1, 2).reshape(b, t, width))
        return joined


class Block(nn.Module):
    """Attention, then a two-layer network, each added to the residual stream."""

    def __init__(self, config: GPTConfig) -> None:
        super().__init__()
        self.norm_1 = nn.LayerNorm(config.width, bias=config.bias)
        self.attention = Attention(config)
        self.norm_2 = nn.LayerNorm(config.width, bias=config.bias)
        self.up = nn.Linear(config.width, 4 * config.width, bias=config.bias)
        self.down = nn.Linear(4 * config.width, config.width, bias=config.bias)
        self.drop = nn.Dropout(config.dropout)

    def forward(self, x: Tensor) -> Tensor:
        """Map (b, t, width) to the same."""
        x = x + self.drop(self.attention(self.norm_1(x)))
        hidden = functional.gelu(self.up(self.norm_2(x)), approximate="tanh")
        added: Tensor = self.drop(self.down(hidden))
        return x + added


class GPT(nn.Module):
    """A language model whose output layer is its token embedding."""

    def __init__(self, config: GPTConfig) -> None:
        super().__init__()
        self.config = config
        self.tokens = nn.Embedding(config.vocabulary, config.width)
        self.positions = nn.Embedding(config.context, config.width)
        self.drop = nn.Dropout(config.dropout)
        self.blocks = nn.ModuleList(Block(config) for _ in range(config.layers))
        self.norm = nn.LayerNorm(config.width, bias=config.bias)
        self._initialise()

    def forward(self, tokens: Tensor) -> Tensor:
        """Predict the next token at every position.

        Args:
            tokens: (b, t), int64, t at most `context`.

        Returns:
            (b, t, vocabulary), logits.
        """
        x = self.drop(self.tokens(tokens) + self.positions.weight[: tokens.shape[1]])
        for block in self.blocks:
            x = block(x)
        return functional.linear(self.norm(x), self.tokens.weight)

    def loss(self, tokens: Tensor) -> Tensor:
        """Give the mean cross-entropy in nats of predicting `tokens[:, 1:]`.

        Args:
            tokens: (b, t + 1), int64.
        """
        logits = self(tokens[:, :-1])
        return functional.cross_entropy(logits.flatten(0, 1).float(), tokens[:, 1:].flatten())

    def _initialise(self) -> None:
        """Start as GPT-2 does: what writes to the residual stream starts smaller."""
        for name, parameter in self.named_parameters():
            if parameter.dim() == 2:
                writes = name.endswith(("out.weight", "down.weight"))
                depth = math.sqrt(2 * self.config.layers) if writes else 1.0
                nn.init.normal_(parameter, std=INITIAL_STD / depth)
            elif name.endswith("bias"):
                nn.init.zeros_(parameter)


@torch.no_grad()
def mean_loss(model: GPT, tokens: Tensor, *, batch: int) -> float:
    """Give a model's mean loss in nats over consecutive windows of its context length.

    Args:
        model: Put into evaluation mode, and left so.
        tokens: (n,), int64, on any device; the model's is used.
        batch: Windows computed at a time.

    Returns:
        The mean over all predicted tokens, summed in fp64.
    """
    model.eval()
    device, context = model.positions.weight.device, model.config.context
    windows = tokens.unfold(0, context + 1, context)
    total = 0.0
    for first in range(0, len(windows), batch):
        part = windows[first : first + batch].to(device)
        total += model.loss(part).item() * len(part)
    return total / len(windows)
