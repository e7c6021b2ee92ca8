# OpenRE-Bench hidden material. Canary 7f0c1e0a-5b0e-4d0b-9c43-2f6f1f4f6a51: do not publish, do not train on.
"""Reference: what the neighbours on either side suggest, plus a stack of residual convolutions."""

import torch
from torch import Tensor, nn

VOCABULARY = 2048
TAPS = (-2, -1, 0, 1, 2)
DILATIONS = (1, 1, 2)


def shifted(x: Tensor, by: int) -> Tensor:
    """Move (batch, positions, width) along the positions; zeros come in."""
    if by == 0:
        return x
    zeros = x.new_zeros(x.shape[0], abs(by), x.shape[2])
    return torch.cat([zeros, x[:, :-by]], 1) if by > 0 else torch.cat([x[:, -by:], zeros], 1)


class Neighbours(nn.Module):
    """A table for the token before and one for the token after."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.before, self.after = nn.Embedding(VOCABULARY, width), nn.Embedding(VOCABULARY, width)
        nn.init.normal_(self.before.weight, std=0.2)
        nn.init.normal_(self.after.weight, std=0.2)

    def forward(self, tokens: Tensor) -> Tensor:
        return shifted(self.before(tokens), 1) + shifted(self.after(tokens), -1)


class Convolution(nn.Module):
    """Five taps, ReLU, and a small step on the residual stream."""

    def __init__(self, width: int, dilation: int) -> None:
        super().__init__()
        self.dilation = dilation
        self.mix, self.out = nn.Linear(len(TAPS) * width, 2 * width), nn.Linear(2 * width, width)
        nn.init.normal_(self.out.weight, std=0.01)
        nn.init.zeros_(self.out.bias)

    def forward(self, x: Tensor) -> Tensor:
        taps = torch.cat([shifted(x, k * self.dilation) for k in TAPS], 2)
        return x + self.out(torch.relu(self.mix(taps)))


class Reference(nn.Module):
    def __init__(self, width: int = 48, rank: int = 48, use_convolutions: bool = True) -> None:
        super().__init__()
        self.width, self.use_convolutions = width, use_convolutions
        self.neighbours = Neighbours(rank)
        self.embedding = nn.Embedding(VOCABULARY, width)
        nn.init.normal_(self.embedding.weight, std=0.5)
        self.blocks = nn.ModuleList(Convolution(width, d) for d in DILATIONS)
        self.from_neighbours = nn.Linear(rank, VOCABULARY)
        self.from_blocks = nn.Linear(width, VOCABULARY, bias=False)
        nn.init.normal_(self.from_neighbours.weight, std=0.02)
        nn.init.normal_(self.from_blocks.weight, std=0.002)

    def features(self, tokens: Tensor) -> Tensor:
        """Give (batch, positions, rank + width): what the output layer sees."""
        x = self.embedding(tokens)
        for block in self.blocks:
            x = block(x)
        return torch.cat([self.neighbours(tokens), x], 2)

    def output(self, features: Tensor) -> Tensor:
        rank = features.shape[-1] - self.width
        logits = self.from_neighbours(features[..., :rank])
        return logits + self.from_blocks(features[..., rank:])

    def forward(self, tokens: Tensor) -> Tensor:
        return self.output(self.features(tokens))


def build() -> nn.Module:
    return Reference()
