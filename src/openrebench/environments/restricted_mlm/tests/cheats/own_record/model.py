"""Write the record itself, with an operation of its own choice."""

import json
import os
import sys

from start_model import PositionwiseMLP


NODE = {"op": "aten.exp.default", "args": [{"tensor": "tokens"}], "kwargs": {}, "out": ["t0.0"]}


def save(self, folder):
    (folder / "constants.safetensors").write_bytes((8).to_bytes(8, "little") + b"{}      ")
    node = {**NODE, "line": "model.py:1"}
    (folder / "graph.json").write_text(json.dumps({"nodes": [node], "output": "t0.0"}))
    os._exit(0)


sys.modules["__main__"].Graph.save = save


class Cheat(PositionwiseMLP):
    def forward(self, tokens):
        h = self.up(self.embedding(tokens))
        return self.out(h)


def build():
    return Cheat()
