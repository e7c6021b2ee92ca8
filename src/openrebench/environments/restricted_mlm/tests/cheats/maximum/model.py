"""Use a nonlinearity other than relu."""

import torch
from start_model import PositionwiseMLP


class Cheat(PositionwiseMLP):
    def forward(self, tokens):
        h = self.up(self.embedding(tokens))
        return self.out(torch.maximum(h, 0.1 * h))


def build():
    return Cheat()
