"""Hide an exponent in an autograd function (R1)."""

import torch
from start_model import PositionwiseMLP


class Exponent(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x.exp()


class Cheat(PositionwiseMLP):
    def forward(self, tokens):
        h = self.up(self.embedding(tokens))
        return self.out(Exponent.apply(h))


def build():
    return Cheat()
