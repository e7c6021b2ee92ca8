# OpenRE-Bench hidden material. Canary 7f0c1e0a-5b0e-4d0b-9c43-2f6f1f4f6a51: do not publish, do not train on.
"""Make hidden/surface-<name>.json from what benchmarks/gpu/sweep_scaling.py wrote.

PYTHONPATH=src python src/openrebench/environments/scaling_law/hidden/make_surface.py RAW_FOLDER small
"""

import json
import sys
from collections import defaultdict
from pathlib import Path

CANARY = (
    "OpenRE-Bench hidden material. Canary 7f0c1e0a-5b0e-4d0b-9c43-2f6f1f4f6a51: "
    "do not publish, do not train on."
)

DEGREES = {"small": 4, "gpu": 2}  # least error where a width is left out


def read(path: Path) -> list[dict]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def cells(rows: list[dict]) -> list[dict]:
    """Collect the runs of equal width, steps and rate, seeds in order."""
    found = defaultdict(list)
    for row in sorted(rows, key=lambda r: r["seed"]):
        found[row["n_embd"], row["steps"], row["rate"]].append(row["loss"])
    return [
        {"n_embd": d, "max_iters": steps, "rate": float(f"{rate:.4g}"), "losses": losses}
        for (d, steps, rate), losses in sorted(found.items())
    ]


def main() -> None:
    folder, name = Path(sys.argv[1]), sys.argv[2]
    rows, record = read(folder / f"{name}-main.jsonl"), json.loads((folder / f"{name}-main.json").read_text())
    family = record["family"]
    largest = max(row["budget"] for row in rows)
    at_rule = [r for r in rows if abs(r["rate"] * r["n_embd"] / family["rate"] - 1) < 0.01]
    near = [r for r in at_rule if r["budget"] > 0.5 * largest]
    tuning = read(folder / f"{name}-tune.jsonl")
    surface = {
        "canary": CANARY,
        "provenance": record | {"made_by": "hidden/make_surface.py", "metric": "validation loss in nats"},
        "degree": DEGREES[name],
        "cells": cells(near),
        "other_rates": cells([r for r in rows if r not in at_rule]),
        "small_runs": cells([r for r in at_rule if r not in near]),
        "tuning": cells(tuning),
    }
    head, *parts = (f'"{k}": {rows_of(v)}' for k, v in surface.items())
    path = Path(__file__).with_name(f"surface-{name}.json")
    path.write_text("{\n" + ",\n".join([head, *parts]) + "\n}\n")


def rows_of(value: object) -> str:
    """One cell a line."""
    if isinstance(value, list):
        return "[\n " + ",\n ".join(json.dumps(v) for v in value) + "\n]"
    return json.dumps(value)


if __name__ == "__main__":
    main()
