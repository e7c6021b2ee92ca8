"""Ask the scorer for a huge tensor."""

from start_model import PositionwiseMLP


class Cheat(PositionwiseMLP):
    def forward(self, tokens):
        h = self.up(self.embedding(tokens))
        huge = h.sum((0, 1)).expand(1 << 22, 1 << 10, -1).clone()
        return self.out(h + huge[0, 0])


def build():
    return Cheat()
