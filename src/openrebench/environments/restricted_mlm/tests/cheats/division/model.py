"""Divide by something that depends on the tokens: a norm."""

from start_model import PositionwiseMLP


class Cheat(PositionwiseMLP):
    def forward(self, tokens):
        h = self.up(self.embedding(tokens))
        return self.out(h / (h * h).sum(-1, keepdim=True))


def build():
    return Cheat()
