"""Register an operation of its own."""

import torch
from start_model import PositionwiseMLP


torch.library.define("cheat::exponent", "(Tensor x) -> Tensor")
torch.library.impl("cheat::exponent", "CompositeExplicitAutograd")(lambda x: x.exp())


class Cheat(PositionwiseMLP):
    def forward(self, tokens):
        h = self.up(self.embedding(tokens))
        return self.out(torch.ops.cheat.exponent(h))


def build():
    return Cheat()
