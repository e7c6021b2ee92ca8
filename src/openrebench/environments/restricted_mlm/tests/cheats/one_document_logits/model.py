"""Return the logits of one sequence for all."""

from start_model import PositionwiseMLP


class Cheat(PositionwiseMLP):
    def forward(self, tokens):
        h = self.up(self.embedding(tokens))
        return self.out(h)[:1]


def build():
    return Cheat()
