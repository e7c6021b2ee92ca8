# OpenRE-Bench hidden material. Canary 7f0c1e0a-5b0e-4d0b-9c43-2f6f1f4f6a51: do not publish, do not train on.
"""Build hidden/reference/weights.safetensors in some two minutes of one core.

    OMP_NUM_THREADS=1 python -m openrebench.environments.restricted_mlm.hidden.build_reference

The tables of the neighbours are trained first, in large batches; only then is everything.
"""

import time
from pathlib import Path

import numpy as np
import torch
from safetensors.torch import save_file
from torch import Tensor, nn
from torch.nn import functional

from openrebench.environments.restricted_mlm.hidden.reference.model import Reference
from openrebench.textbase import assets

TARGET = Path(__file__).parent / "reference" / "weights.safetensors"
POSITIONS, MASK, SHARE = 64, 3, 0.15
TABLE_STEPS, ALL_STEPS = 1500, 9000


def batch(tokens: Tensor, size: int) -> tuple[Tensor, Tensor, Tensor]:
    starts = torch.randint(len(tokens) - POSITIONS, (size, 1))
    rows = tokens[starts + torch.arange(POSITIONS)]
    where = torch.rand(rows.shape) < SHARE
    return rows, rows.masked_fill(where, MASK), where


def loss_of(model: Reference, tokens: Tensor, size: int, tables_only: bool) -> Tensor:
    rows, shown, where = batch(tokens, size)
    if tables_only:
        logits = model.from_neighbours(model.neighbours(shown)[where])
    else:
        logits = model.output(model.features(shown)[where])
    return functional.cross_entropy(logits, rows[where])


def train(model: Reference, tokens: Tensor, steps: int, size: int, rate: float, tables: bool) -> None:
    optimiser = torch.optim.AdamW(
        model.parameters(), lr=rate, betas=(0.9, 0.98), weight_decay=0.01, fused=True
    )
    for step in range(steps):
        for group in optimiser.param_groups:
            group["lr"] = rate * min(1.0, (step + 1) / 50) * (0.05 + 0.95 * (1 - step / steps))
        loss = loss_of(model, tokens, size, tables)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimiser.step()
        optimiser.zero_grad()
        if step % 250 == 0:
            print(f"step {step}: {loss.item():.3f}, {time.process_time():.0f} s of CPU", flush=True)


def main() -> None:
    torch.manual_seed(0)
    torch.set_num_threads(1)
    tokens = torch.from_numpy(
        np.concatenate([assets.split("base"), assets.split("dev")]).astype(np.int64)
    )
    model = Reference()
    train(model, tokens, TABLE_STEPS, 64, 5e-3, True)
    train(model, tokens, ALL_STEPS, 16, 2e-3, False)
    weights = {name: value.half().contiguous() for name, value in model.state_dict().items()}
    save_file(weights, TARGET)
    TARGET.chmod(0o644)


if __name__ == "__main__":
    main()
