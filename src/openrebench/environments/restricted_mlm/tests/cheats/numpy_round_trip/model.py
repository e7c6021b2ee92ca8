"""Leave PyTorch for the forbidden part (R1)."""

import numpy
import torch
from start_model import PositionwiseMLP


class Cheat(PositionwiseMLP):
    def forward(self, tokens):
        h = self.up(self.embedding(tokens))
        away = numpy.exp(h.detach().numpy())
        return self.out(torch.from_numpy(away))


def build():
    return Cheat()
