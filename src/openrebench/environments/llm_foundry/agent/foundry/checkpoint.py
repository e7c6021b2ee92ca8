"""Checkpoints of a run: weights, optimiser, progress."""

import json
import os
import random
import time
from pathlib import Path
from typing import Any

import numpy as np
import torch

from foundry import distributed
from foundry.config import Config
from foundry.data.shards import file_digest

LATEST = "latest.pt"
MANIFEST = "checkpoints.json"
PREFIX = "state.model."


class CheckpointSaver:
    """Writes `ba<batch>.pt` and `latest.pt`, and removes old ones."""

    def __init__(self, config: Config) -> None:
        self.config = config
        self.folder = Path(config.save_folder)
        self.keep = config.get("save_num_checkpoints_to_keep", 1)
        self.saved: list[dict[str, Any]] = []

    def save(self, state: Any) -> None:
        """Save the state as it is; all processes must call this together."""
        weights = distributed.full_state(state.model)
        optimizer = {}
        if not self.config.get("save_weights_only", False):
            optimizer = distributed.full_optimizer_state(state.optimizer.state_dict())
        if distributed.is_main():
            self._write(state, weights, optimizer)
        distributed.barrier()

    def _write(self, state: Any, weights: dict[str, Any], optimizer: dict[str, Any]) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        content = {
            "model": {PREFIX + name: value for name, value in weights.items()},
            "optimizer": optimizer,
            "batch": state.batch,
            "epoch": state.epoch,
            "tokens": state.tokens,
            "losses": state.losses,
            "config": json.loads(json.dumps(self.config)),
            "rng": {
                "python": random.getstate(),
                "numpy": np.random.get_state(legacy=False)["state"],
                "torch": torch.get_rng_state(),
            },
        }
        path = self.folder / f"ba{state.batch}.pt"
        partial = path.with_suffix(".partial")
        torch.save(content, partial)
        with open(partial, "rb") as file:
            os.fsync(file.fileno())
        partial.rename(path)
        (self.folder / LATEST).unlink(missing_ok=True)
        (self.folder / LATEST).symlink_to(path.name)
        self.saved = [entry for entry in self.saved if entry["file"] != path.name]
        self.saved.append({"file": path.name, "batch": state.batch, "sha256": file_digest(path)})
        self._remove_old()
        manifest = {"written": time.time(), "checkpoints": self.saved}
        (self.folder / MANIFEST).write_text(json.dumps(manifest, indent=1))

    def _remove_old(self) -> None:
        if self.keep < 0:
            return
        while len(self.saved) > self.keep:
            old = self.saved.pop(0)
            (self.folder / old["file"]).unlink(missing_ok=True)


def load_checkpoint(path: str | Path) -> dict[str, Any]:
    """Read a checkpoint onto the CPU."""
    return torch.load(path, map_location="cpu", weights_only=False)
