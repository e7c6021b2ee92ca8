"""Use the in-place form of a forbidden operation (R1)."""

from start_model import PositionwiseMLP


class Cheat(PositionwiseMLP):
    def forward(self, tokens):
        h = self.up(self.embedding(tokens))
        return self.out(h.exp_())


def build():
    return Cheat()
