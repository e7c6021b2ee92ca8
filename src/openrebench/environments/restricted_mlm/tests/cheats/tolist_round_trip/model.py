"""Leave PyTorch through a list."""

import math

import torch
from start_model import PositionwiseMLP


class Cheat(PositionwiseMLP):
    def forward(self, tokens):
        h = self.up(self.embedding(tokens))
        away = torch.tensor([math.exp(x) for x in h.flatten().tolist()])
        return self.out(away.view(h.shape))


def build():
    return Cheat()
