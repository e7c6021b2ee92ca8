"""Train the model of model.py and write weights.safetensors.

Training may use anything; only the forward pass is restricted.
"""

import argparse

import data
import torch
from model import build
from safetensors.torch import save_file
from torch import nn
from torch.nn import functional


def train(model: nn.Module, steps: int, size: int, rate: float) -> None:
    tokens, _ = data.load()
    optimiser = torch.optim.AdamW(model.parameters(), lr=rate)
    for step in range(steps):
        rows = data.batch(tokens, size)
        shown, where = data.masked(rows)
        loss = functional.cross_entropy(model(shown)[where], rows[where])
        optimiser.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimiser.step()
        if step % 100 == 0:
            print(f"step {step}: loss {loss.item():.3f}", flush=True)


@torch.no_grad()
def held_out_loss(model: nn.Module, batches: int = 32) -> float:
    torch.manual_seed(0)
    _, tokens = data.load()
    total, count = 0.0, 0
    for _ in range(batches):
        rows = data.batch(tokens, 32)
        shown, where = data.masked(rows)
        total += functional.cross_entropy(model(shown)[where], rows[where], reduction="sum").item()
        count += int(where.sum())
    return total / count


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=400)
    parser.add_argument("--batch", type=int, default=16)
    parser.add_argument("--rate", type=float, default=2e-3)
    arguments = parser.parse_args()
    torch.manual_seed(0)
    torch.set_num_threads(1)
    model = build()
    train(model, arguments.steps, arguments.batch, arguments.rate)
    print(f"held-out loss {held_out_loss(model):.4f}")
    weights = {name: value.half().contiguous() for name, value in model.state_dict().items()}
    save_file(weights, "weights.safetensors")


if __name__ == "__main__":
    main()
