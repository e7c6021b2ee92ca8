"""Round by writing floats into an integer buffer."""

from start_model import PositionwiseMLP


class Cheat(PositionwiseMLP):
    def forward(self, tokens):
        h = self.up(self.embedding(tokens))
        steps = tokens.new_zeros(h.shape)
        steps.copy_(h * 100)
        return self.out(h + self.up.bias[steps * 0])


def build():
    return Cheat()
