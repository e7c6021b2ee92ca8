"""Do the forbidden arithmetic on a number taken out of a tensor."""

from start_model import PositionwiseMLP


class Cheat(PositionwiseMLP):
    def forward(self, tokens):
        h = self.up(self.embedding(tokens))
        return self.out(h * 2.718 ** float(h.sum().item()))


def build():
    return Cheat()
