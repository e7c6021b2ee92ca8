# OpenRE-Bench hidden material. Canary 7f0c1e0a-5b0e-4d0b-9c43-2f6f1f4f6a51: do not publish, do not train on.
"""Measure what simple routes reach, into anchors/waypoints-small.json.

    OMP_NUM_THREADS=1 python -m openrebench.environments.fix_embedding.hidden.waypoints
"""

import json
import math
import time
from pathlib import Path

import torch

from openrebench.core.card import TaskCard
from openrebench.core.scale import ScoreScale
from openrebench.environments.fix_embedding.environment import SUBMITTED
from openrebench.environments.fix_embedding.hidden.recover import order_of
from openrebench.textbase import source, weights
from openrebench.textbase.gpt import GPT, mean_loss
from openrebench.textbase.training import windows

FOLDER = Path(__file__).parents[1]
LONG_S = 60.0
BATCH = 4


def trained(model: GPT, tokens: torch.Tensor, rate: float, budget_s: float) -> GPT:
    """Train all weights for so many seconds of CPU, with a linear fall of the rate."""
    draw = torch.Generator().manual_seed(0)
    optimiser = torch.optim.AdamW(model.parameters(), lr=rate, betas=(0.9, 0.95), fused=True)
    model.train()
    started = time.process_time()
    while (spent := time.process_time() - started) < budget_s:
        for group in optimiser.param_groups:
            group["lr"] = rate * (1 - spent / budget_s)
        model.loss(windows(tokens, BATCH, model.config.context, draw)).backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimiser.step()
        optimiser.zero_grad()
    return model


def fresh(like: GPT) -> GPT:
    torch.manual_seed(0)
    return GPT(like.config)


def main() -> None:
    torch.set_num_threads(1)
    card = TaskCard.load(FOLDER)
    profile = card.profile("small")
    large, little = source.model(profile, "large"), source.model(profile, "little")
    score = source.tokens(profile, "score")[: profile.integer("score_tokens") + 1]
    dev = source.tokens(profile, "dev")[: profile.integer("dev_tokens")]

    def damaged() -> GPT:
        return weights.load_model(FOLDER / "agent" / SUBMITTED, large.config)

    started = time.process_time()
    order_of(damaged(), little)
    reference_s = time.process_time() - started
    models = {
        "intact": large,
        "small model": little,
        "start: damaged": damaged(),
        "reference": weights.load_model(FOLDER / "hidden/reference" / SUBMITTED, large.config),
        "from scratch, the reference's compute": trained(fresh(large), dev, 3e-3, reference_s),
        f"from scratch, {LONG_S:.0f} s": trained(fresh(large), dev, 3e-3, LONG_S),
        f"small from scratch, {LONG_S:.0f} s": trained(fresh(little), dev, 4e-3, LONG_S),
        f"damaged model finetuned, {LONG_S:.0f} s": trained(damaged(), dev, 2e-3, LONG_S),
    }
    losses = {name: mean_loss(model, score, batch=32) for name, model in models.items()}
    scale = card.score.scale(losses["start: damaged"], losses["reference"])
    write(losses, scale, reference_s)


def write(losses: dict[str, float], scale: ScoreScale, reference_s: float) -> None:
    rows = {
        name: {
            "loss_nats": round(loss, 4),
            "ln_loss_minus_offset": round(math.log(loss - scale.offset), 4),
            "normalised": round(scale.normalize(loss), 3),
        }
        for name, loss in losses.items()
    }
    record = {
        "script": "hidden/waypoints.py",
        "reference_cpu_s": round(reference_s, 1),
        "threads": 1,
        "torch": str(torch.__version__),
        "waypoints": rows,
    }
    path = FOLDER / "anchors" / "waypoints-small.json"
    path.write_text(json.dumps(record, indent=1) + "\n")
    for name, row in rows.items():
        print(name, row)


if __name__ == "__main__":
    main()
