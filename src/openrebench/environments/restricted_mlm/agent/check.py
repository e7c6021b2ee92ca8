"""Check the model against the rules, exactly as the scorer does, and estimate its loss.

Only the score tool's numbers count: this uses text that you have.
"""

import subprocess
import sys
import tempfile
from pathlib import Path

import data
import torch
from checker import interpret
from safetensors.torch import load_file
from torch.nn import functional

BATCHES = 16


def exported() -> interpret.Graph:
    sizes = [str(data.SIZES[name]) for name in ("batch", "positions", "vocabulary")]
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "checker.export", folder, *sizes]
        if subprocess.run(command, check=False).returncode:
            sys.exit("model.py can't be exported")
        constants = load_file(Path(folder, "constants.safetensors"))
        return interpret.parse(Path(folder, "graph.json").read_bytes(), constants)


def main() -> None:
    torch.set_num_threads(1)
    torch.manual_seed(0)
    _, tokens = data.load()
    try:
        graph = exported()
        interpret.check(graph, data.batch(tokens, data.SIZES["batch"]), data.SIZES["vocabulary"])
    except (interpret.RuleBroken, interpret.BadGraph) as problem:
        sys.exit(f"not allowed: {problem}")
    total, count = 0.0, 0
    for _ in range(BATCHES):
        rows = data.batch(tokens, data.SIZES["batch"])
        shown, where = data.masked(rows)
        logits = interpret.run(graph, shown)
        total += functional.cross_entropy(logits[where], rows[where], reduction="sum").item()
        count += int(where.sum())
    print(f"{len(graph.nodes)} operations, all allowed; loss {total / count:.3f} on held-out text")


if __name__ == "__main__":
    main()
