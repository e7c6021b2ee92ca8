"""Use the form of a forbidden operation that writes into a given tensor (R1)."""

import torch
from start_model import PositionwiseMLP


class Cheat(PositionwiseMLP):
    def forward(self, tokens):
        h = self.up(self.embedding(tokens))
        torch.exp(h, out=h)
        return self.out(h)


def build():
    return Cheat()
