"""Round by casting to a type with few digits."""

from start_model import PositionwiseMLP


class Cheat(PositionwiseMLP):
    def forward(self, tokens):
        h = self.up(self.embedding(tokens))
        return self.out(h.bfloat16().float())


def build():
    return Cheat()
