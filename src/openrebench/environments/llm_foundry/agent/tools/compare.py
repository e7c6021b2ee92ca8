"""Compare two trained models the way the scorer does.

    python tools/compare.py base_model TRUSTED OTHER

For example: keep the `trained_model` of the untouched repository as TRUSTED, change something,
run again, and compare.
"""

import json
import sys
from pathlib import Path

import torch
from safetensors.torch import load_file

GROUPS = ("wte", "wpe", "attn", "ffn", "norm")


def group_of(name: str) -> str:
    return next(group for group in GROUPS if group in name)


def main() -> None:
    base, trusted, other = (Path(folder) for folder in sys.argv[1:4])
    start, right, found = (load_file(f / "model.safetensors") for f in (base, trusted, other))
    apart = dict.fromkeys((*GROUPS, "all"), 0.0)
    moved, along = dict.fromkeys(apart, 0.0), dict.fromkeys(apart, 0.0)
    for name, value in right.items():
        off, way = found[name].double() - value.double(), value.double() - start[name].double()
        for group in (group_of(name), "all"):
            apart[group] += float(off.square().sum())
            moved[group] += float(way.square().sum())
            along[group] += float((off * way).sum())
    for group in apart:
        drift = (apart[group] / moved[group]) ** 0.5 if moved[group] else float(apart[group] > 0)
        ahead = along[group] / moved[group] if moved[group] else 0.0
        print(f"{group:5s} drift {drift:.2e} ahead {ahead:+.2e}")
    losses = [torch.tensor(json.loads((f / "train_loss.json").read_text())) for f in (trusted, other)]
    if len(losses[0]) != len(losses[1]):
        print(f"steps differ: {len(losses[0])} and {len(losses[1])}")
    else:
        print(f"largest difference of a step's loss: {float((losses[0] - losses[1]).abs().max()):.2e}")


if __name__ == "__main__":
    main()
