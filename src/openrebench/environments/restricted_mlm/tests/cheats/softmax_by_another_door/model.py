"""Find softmax by a name put together at run time (R1)."""

import torch
from start_model import PositionwiseMLP


class Cheat(PositionwiseMLP):
    def forward(self, tokens):
        h = self.up(self.embedding(tokens))
        return self.out(getattr(torch, "soft" + "max")(h, -1))


def build():
    return Cheat()
