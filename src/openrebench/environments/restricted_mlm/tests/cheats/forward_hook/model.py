"""Hide an exponent in a hook of a module (R1)."""

from start_model import PositionwiseMLP


class Cheat(PositionwiseMLP):
    def forward(self, tokens):
        h = self.up(self.embedding(tokens))
        self.out.register_forward_pre_hook(lambda module, inputs: (inputs[0].exp(),))
        return self.out(h)


def build():
    return Cheat()
