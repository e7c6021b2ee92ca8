"""Select by a condition."""

import torch
from start_model import PositionwiseMLP


class Cheat(PositionwiseMLP):
    def forward(self, tokens):
        h = self.up(self.embedding(tokens))
        return self.out(torch.where(tokens.unsqueeze(-1) == 3, h, -h))


def build():
    return Cheat()
