"""Train the base models of the text environments and write them with their provenance.

PYTHONPATH=src python benchmarks/gpu/train_bases.py OUT_FOLDER large little
"""

import argparse
import dataclasses
import json
import platform
from pathlib import Path

import torch

from openrebench.textbase import build, recipes, training, weights
from openrebench.textbase.tokens import load_tokens


def hardware(device: str) -> dict[str, str]:
    name = torch.cuda.get_device_name() if device == "cuda" else platform.processor()
    return {"device": name, "torch": torch.__version__, "python": platform.python_version()}


def load(name: str) -> torch.Tensor:
    return torch.from_numpy(load_tokens(build.HERE / "data" / f"{name}.xz").astype("int64"))


def train_one(name: str, folder: Path, device: str) -> None:
    recipe = recipes.RECIPES[name]
    model, curve = training.train(recipe, load("base"), load("dev"), device)
    weights.save_weights(folder / f"{name}.safetensors", model)
    record = {
        "script": "benchmarks/gpu/train_bases.py",
        "recipe": dataclasses.asdict(recipe),
        "parameters": sum(p.numel() for p in model.parameters()),
        "tokens_seen": recipe.steps * recipe.batch * recipe.config.context,
        "text": "base split of openrebench.textbase; dev_loss is on its dev split, in nats",
        "hardware": hardware(device),
        "curve": [{k: round(v, 4) for k, v in point._asdict().items()} for point in curve],
    }
    (folder / f"{name}.json").write_text(json.dumps(record, indent=1) + "\n")
    last = curve[-1]
    print(f"{name}: dev loss {last.dev_loss:.4f} after {last.seconds:.0f} s", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("names", nargs="+", choices=list(recipes.RECIPES))
    arguments = parser.parse_args()
    device = "cuda" if torch.cuda.is_available() else "cpu"
    torch.set_float32_matmul_precision("high")
    for name in arguments.names:
        train_one(name, arguments.folder, device)


if __name__ == "__main__":
    main()
