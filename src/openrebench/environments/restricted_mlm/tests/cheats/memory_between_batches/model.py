"""Keep what earlier batches said in a parameter."""

from start_model import PositionwiseMLP


class Cheat(PositionwiseMLP):
    def forward(self, tokens):
        h = self.up(self.embedding(tokens))
        self.up.bias.data += h.sum((0, 1))
        return self.out(h)


def build():
    return Cheat()
