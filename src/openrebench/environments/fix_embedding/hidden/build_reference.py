# OpenRE-Bench hidden material. Canary 7f0c1e0a-5b0e-4d0b-9c43-2f6f1f4f6a51: do not publish, do not train on.
"""Build the reference solution from what an attempt sees; under five minutes of one core.

    OMP_NUM_THREADS=1 python -m openrebench.environments.fix_embedding.hidden.build_reference [PROFILE [FOLDER]]

Without a folder that of `small` goes to hidden/reference/, others to this machine's cache. The damage is drawn
here and not kept; attempts have their own.
"""

import sys
import time
from pathlib import Path
from typing import TypedDict

import torch

from openrebench.core.card import Profile
from openrebench.core.catalog import find_card
from openrebench.core.seed import Seed
from openrebench.environments.fix_embedding.environment import SUBMITTED, made_reference
from openrebench.environments.fix_embedding.hidden.damage import damaged
from openrebench.environments.fix_embedding.hidden.recover import repaired
from openrebench.textbase import source, weights
from openrebench.textbase.gpt import GPT

class Plan(TypedDict):
    """How much a size's reference is trained."""

    batch: int
    effort: float
    last_steps: int


HERE = Path(__file__).parent
PLAN: dict[str, Plan] = {
    "small": {"batch": 4, "effort": 1.3, "last_steps": 0},
    "gpu": {"batch": 32, "effort": 0.5, "last_steps": 200},
}


def build(name: str, folder: Path) -> None:
    """Write the reference of a size into a folder."""
    model = built(name, find_card("fix_embedding").profile(name), Seed.fresh())
    weights.save_weights(folder / SUBMITTED, model)


def built(name: str, profile: Profile, seed: Seed) -> GPT:
    """Damage the large model with a seed, and repair it again."""
    large, little = source.model(profile, "large"), source.model(profile, "little")
    given = damaged(large, seed, float(profile.parameters["severity"]))
    text = source.tokens(profile, "dev")[: profile.integer("dev_tokens")]
    models = weights.model_of(given, large.config), little
    damaged_model, little = (model.to(profile.device) for model in models)
    return repaired(damaged_model, little, text.to(profile.device), **PLAN[name])


def main() -> None:
    name = (*sys.argv[1:], "small")[0]
    if name not in PLAN:
        sys.exit(f"fix_embedding/{name} has no recipe for a reference; it has: {', '.join(PLAN)}")
    torch.set_num_threads(1)
    started = time.process_time()
    usual = HERE / "reference" if name == "small" else made_reference(name)
    folder = Path((*sys.argv[2:], str(usual))[0])
    build(name, folder)
    print(f"{folder / SUBMITTED} in {time.process_time() - started:.0f} s of CPU")


if __name__ == "__main__":
    main()
