"""Use softmax plainly (R1)."""

import torch
from start_model import PositionwiseMLP


class Cheat(PositionwiseMLP):
    def forward(self, tokens):
        h = self.up(self.embedding(tokens))
        return self.out(torch.softmax(h, -1))


def build():
    return Cheat()
