"""The model that is scored. `build()` gives it; `weights.safetensors` holds its weights.

The forward pass may use the operations listed in instructions.md and no others.
"""

import json
from pathlib import Path

import torch
from torch import Tensor, nn

SIZES = Path(__file__).with_name("sizes.json")
VOCABULARY = json.loads(SIZES.read_text())["vocabulary"] if SIZES.exists() else 2048


class PositionwiseMLP(nn.Module):
    """Looks at one token at a time, so at a masked one it can only guess by frequency."""

    def __init__(self, width: int = 32, hidden: int = 64) -> None:
        super().__init__()
        self.embedding = nn.Embedding(VOCABULARY, width)
        self.up = nn.Linear(width, hidden)
        self.out = nn.Linear(hidden, VOCABULARY)

    def forward(self, tokens: Tensor) -> Tensor:
        """Map tokens (batch, positions), int64, to logits (batch, positions, vocabulary)."""
        return self.out(torch.relu(self.up(self.embedding(tokens))))


def build() -> nn.Module:
    """Give the model, untrained; its weights are loaded afterwards, strictly."""
    return PositionwiseMLP()
