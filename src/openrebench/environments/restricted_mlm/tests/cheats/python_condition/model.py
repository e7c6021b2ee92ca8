"""Let Python decide on a value."""

from start_model import PositionwiseMLP


class Cheat(PositionwiseMLP):
    def forward(self, tokens):
        h = self.up(self.embedding(tokens))
        return self.out(h if h.sum() > 0 else -h)


def build():
    return Cheat()
