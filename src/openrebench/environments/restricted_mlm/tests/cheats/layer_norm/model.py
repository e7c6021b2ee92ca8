"""Hide a norm in a module."""

import torch
from start_model import PositionwiseMLP


class Cheat(PositionwiseMLP):
    def forward(self, tokens):
        h = self.up(self.embedding(tokens))
        return self.out(torch.nn.LayerNorm(h.shape[-1])(h))


def build():
    return Cheat()
