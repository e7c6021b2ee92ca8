# OpenRE-Bench hidden material. Canary 7f0c1e0a-5b0e-4d0b-9c43-2f6f1f4f6a51: do not publish, do not train on.
"""Build agent/fixed_model.safetensors and hidden/reference/ in a few seconds of one core.

The permutation of the shipped start is drawn here and not kept; attempts draw their own.
The reference sees what an attempt sees: the damaged model and the small one.
"""

import time
from pathlib import Path

import torch

from openrebench.core.catalog import find_card
from openrebench.core.seed import Seed
from openrebench.environments.fix_embedding.environment import EMBEDDING, SUBMITTED
from openrebench.environments.fix_embedding.hidden.damage import damaged, order
from openrebench.environments.fix_embedding.hidden.recover import order_of
from openrebench.textbase import source, weights

HERE = Path(__file__).parent


def main() -> None:
    torch.set_num_threads(1)
    profile = find_card("fix_embedding").profile("small")
    large, little = source.model(profile, "large"), source.model(profile, "little")
    seed = Seed.fresh()
    given = damaged(large, seed)
    weights.save_tensors(HERE.parent / "agent" / SUBMITTED, given)
    started = time.process_time()
    found = order_of(weights.model_of(given, large.config), little)
    repaired = {**given, EMBEDDING: given[EMBEDDING][found]}
    right = (order(large, seed)[found.numpy()] == range(len(found))).mean()
    print(f"{right:.1%} of the rows found in {time.process_time() - started:.1f} s of CPU")
    weights.save_tensors(HERE / "reference" / SUBMITTED, repaired)


if __name__ == "__main__":
    main()
