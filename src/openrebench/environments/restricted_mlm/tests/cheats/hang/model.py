"""Never return."""

import time

from start_model import PositionwiseMLP


class Cheat(PositionwiseMLP):
    def forward(self, tokens):
        h = self.up(self.embedding(tokens))
        while True:
            time.sleep(1)


def build():
    return Cheat()
