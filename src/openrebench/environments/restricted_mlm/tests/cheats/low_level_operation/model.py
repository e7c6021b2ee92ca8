"""Call the basic operation itself (R1)."""

import torch
from start_model import PositionwiseMLP


class Cheat(PositionwiseMLP):
    def forward(self, tokens):
        h = self.up(self.embedding(tokens))
        return self.out(torch.ops.aten.exp.default(h))


def build():
    return Cheat()
