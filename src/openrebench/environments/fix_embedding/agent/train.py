"""Train or finetune one of the models on tokens.bin, and write it as fixed_model.safetensors.

    python train.py --init large_model.safetensors --steps 300
    python train.py --init none                        # from random weights
    python train.py --init large_model.safetensors --steps 0    # only look at the loss
"""

import argparse
import json
import math
import time

import numpy as np
import torch
from model import GPT, GPTConfig, mean_loss
from safetensors.torch import load_file, save_file

# What is trained, and how. Change anything.
BATCH = 4
PEAK_RATE = 1e-3
WARM_UP_STEPS = 50
WEIGHT_DECAY = 0.01
CLIP_NORM = 1.0
HELD_OUT = 0.1  # share of the text, for the loss that is shown
SIZES = json.load(open("sizes.json"))
DEVICE = SIZES["device"]


def load_tokens() -> tuple[torch.Tensor, torch.Tensor]:
    """Give training and held-out tokens, each (n,), int64."""
    tokens = torch.from_numpy(np.fromfile("tokens.bin", dtype="<u2").astype(np.int64))
    cut = int(len(tokens) * (1 - HELD_OUT))
    return tokens[:cut].to(DEVICE), tokens[cut:].to(DEVICE)


def load_model(file: str) -> GPT:
    """Give the model of a file in float32; `none` stands for a large one with random weights."""
    model = GPT(GPTConfig(**SIZES["small" if file.startswith("small") else "large"]))
    if file != "none":
        model.load_state_dict({name: value.float() for name, value in load_file(file).items()})
    return model.to(DEVICE)


def save_model(model: GPT, file: str) -> None:
    half = {name: value.half().cpu().contiguous() for name, value in model.state_dict().items()}
    save_file(half, file)


def learning_rate(step: int, steps: int) -> float:
    """Rise linearly, then fall like a cosine to a tenth of the peak."""
    fall = 0.5 * (1 + math.cos(math.pi * step / steps))
    return PEAK_RATE * min(1.0, (step + 1) / WARM_UP_STEPS) * (0.1 + 0.9 * fall)


def random_windows(tokens: torch.Tensor, context: int) -> torch.Tensor:
    """Draw (batch, context + 1) tokens: each window is input and, moved by one, target."""
    starts = torch.randint(len(tokens) - context, (BATCH, 1), device=tokens.device)
    return tokens[starts + torch.arange(context + 1, device=tokens.device)]


def train(model: GPT, tokens: torch.Tensor, steps: int) -> None:
    wanted = [p for p in model.parameters() if p.requires_grad]
    optimiser = torch.optim.AdamW(wanted, betas=(0.9, 0.95), weight_decay=WEIGHT_DECAY)
    model.train()
    for step in range(steps):
        for group in optimiser.param_groups:
            group["lr"] = learning_rate(step, steps)
        loss = model.loss(random_windows(tokens, model.config.context))
        loss.backward()
        torch.nn.utils.clip_grad_norm_(wanted, CLIP_NORM)
        optimiser.step()
        optimiser.zero_grad()
        if step % 100 == 0:
            print(f"step {step}: loss {loss.item():.3f}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--init", default="large_model.safetensors")
    parser.add_argument("--steps", type=int, default=300)
    arguments = parser.parse_args()
    torch.manual_seed(0)
    torch.set_num_threads(1)
    tokens, held_out = load_tokens()
    model, started = load_model(arguments.init), time.monotonic()
    train(model, tokens, arguments.steps)
    took_s = time.monotonic() - started
    print(f"held-out loss {mean_loss(model, held_out, batch=32):.4f} after {took_s:.0f} s")
    if arguments.steps and not arguments.init.startswith("small"):
        save_model(model, "fixed_model.safetensors")


if __name__ == "__main__":
    main()
