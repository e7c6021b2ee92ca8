"""Honest models of different shape, each of allowed operations only."""

import torch
from torch import Tensor, nn
from torch.nn import functional

V, T, D = 50, 8, 16


class Embedded(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.embedding, self.out = nn.Embedding(V, D), nn.Linear(D, V)

    def forward(self, tokens: Tensor) -> Tensor:
        return self.out(self.body(self.embedding(tokens)))

    def body(self, x: Tensor) -> Tensor:
        return x


class Bigram(nn.Module):
    """Tables for the token before and the one after, written into zeros by slices."""

    def __init__(self) -> None:
        super().__init__()
        self.before, self.after = nn.Embedding(V, V), nn.Embedding(V, V)

    def forward(self, tokens: Tensor) -> Tensor:
        logits = torch.zeros(*tokens.shape, V)
        logits[:, 1:] = self.before(tokens[:, :-1])
        logits[:, :-1] += self.after(tokens[:, 1:])
        return logits


class SliceConvolution(Embedded):
    def __init__(self) -> None:
        super().__init__()
        self.mix = nn.Linear(3 * D, D)

    def body(self, x: Tensor) -> Tensor:
        zeros = x.new_zeros(x.shape[0], 1, D)
        taps = [torch.cat([zeros, x[:, :-1]], 1), x, torch.cat([x[:, 1:], zeros], 1)]
        return x + functional.relu(self.mix(torch.cat(taps, 2)))


class StridedConvolution(Embedded):
    """Windows by as_strided, weights by einsum, padding by F.pad."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.randn(3, D, D) * 0.1)

    def body(self, x: Tensor) -> Tensor:
        padded = functional.pad(x, (0, 0, 1, 1))
        b, t, d = padded.shape
        windows = padded.as_strided((b, t - 2, 3, d), (t * d, d, d, 1))
        return x + torch.einsum("btkd,kde->bte", windows, self.weight).relu()


class UnfoldConvolution(Embedded):
    def __init__(self) -> None:
        super().__init__()
        self.mix = nn.Linear(3 * D, D)

    def body(self, x: Tensor) -> Tensor:
        windows = functional.pad(x, (0, 0, 1, 1)).unfold(1, 3, 1)
        return x + self.mix(windows.flatten(2)).relu()


class Mixer(Embedded):
    """Mixes positions by a learned matrix: the softmax is one of parameters alone."""

    def __init__(self) -> None:
        super().__init__()
        self.positions = nn.Parameter(torch.randn(T, T))
        self.up, self.down = nn.Linear(D, 2 * D), nn.Linear(2 * D, D)

    def body(self, x: Tensor) -> Tensor:
        x = x + torch.softmax(self.positions, -1) @ x
        return x + self.down(torch.relu(self.up(x)))


class Bilinear(Embedded):
    def __init__(self) -> None:
        super().__init__()
        self.left, self.right = nn.Linear(D, D), nn.Linear(D, D)

    def body(self, x: Tensor) -> Tensor:
        return x + self.left(x) * self.right(x.roll(1, 1)) * 0.25


class ReluAttention(Embedded):
    """Attention with ReLU for softmax, scaled by a constant."""

    def __init__(self, heads: int = 2) -> None:
        super().__init__()
        self.heads, self.qkv, self.mix = heads, nn.Linear(D, 3 * D), nn.Linear(D, D)

    def body(self, x: Tensor) -> Tensor:
        b, t, d = x.shape
        parts = self.qkv(x).chunk(3, dim=-1)
        q, k, v = (p.view(b, t, self.heads, d // self.heads).transpose(1, 2) for p in parts)
        weights = (q @ k.transpose(-2, -1) * (d // self.heads) ** -0.5).relu() * (1 / t)
        return x + self.mix((weights @ v).transpose(1, 2).reshape(b, t, d))


class LinearAttention(Embedded):
    def __init__(self) -> None:
        super().__init__()
        self.q, self.k, self.v = (nn.Linear(D, D) for _ in range(3))

    def body(self, x: Tensor) -> Tensor:
        memory = torch.einsum("btd,bte->bde", self.k(x).relu(), self.v(x))
        return x + torch.einsum("btd,bde->bte", self.q(x).relu(), memory) * 0.01


class HashedTrigram(Embedded):
    """Looks pairs of neighbours up in a table, by arithmetic on token numbers."""

    def __init__(self) -> None:
        super().__init__()
        self.pairs = nn.Parameter(torch.randn(V * V, D))

    def forward(self, tokens: Tensor) -> Tensor:
        pairs = tokens[:, :-2] * V + tokens[:, 2:]
        middle = self.embedding(tokens[:, 1:-1]) + self.pairs[pairs]
        return self.out(functional.pad(middle, (0, 0, 1, 1)))


class Recurrent(Embedded):
    """A recurrence with ReLU, unrolled over the positions."""

    def __init__(self) -> None:
        super().__init__()
        self.step = nn.Linear(2 * D, D)

    def body(self, x: Tensor) -> Tensor:
        state, states = x.new_zeros(x.shape[0], D), []
        for token in x.unbind(1):
            state = self.step(torch.cat([state, token], 1)).relu()
            states.append(state)
        return torch.stack(states, 1)


class GatedPositions(Embedded):
    """In-place sums, position embeddings from arange, gating by products, constant masks."""

    def __init__(self) -> None:
        super().__init__()
        self.positions, self.gate = nn.Embedding(T, D), nn.Linear(D, D)

    def body(self, x: Tensor) -> Tensor:
        x = x + self.positions(torch.arange(x.shape[1], device=x.device))
        x += 1.0
        mask = (torch.arange(T)[:, None] >= torch.arange(T)).float()
        return torch.einsum("ts,bsd->btd", mask, x) * self.gate(x).relu() - x.sum(1, keepdim=True)


class DeepResidual(Embedded):
    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(D, D) for _ in range(6))

    def body(self, x: Tensor) -> Tensor:
        for layer in self.layers:
            x = x + layer(x).relu_()
        return x


HONEST = [
    Bigram, SliceConvolution, StridedConvolution, UnfoldConvolution, Mixer, Bilinear, ReluAttention,
    LinearAttention, HashedTrigram, Recurrent, GatedPositions, DeepResidual,
]  # fmt: skip
