"""Read the bits of floats as integers."""

import torch
from start_model import PositionwiseMLP


class Cheat(PositionwiseMLP):
    def forward(self, tokens):
        h = self.up(self.embedding(tokens))
        return self.out(h + h.view(torch.int32).float())


def build():
    return Cheat()
