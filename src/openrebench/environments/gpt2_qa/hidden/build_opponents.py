# OpenRE-Bench hidden material. Canary 7f0c1e0a-5b0e-4d0b-9c43-2f6f1f4f6a51: do not publish, do not train on.
"""Put trained models in their places, and let base and rival answer the hidden questions.

    python -m openrebench.environments.gpt2_qa.hidden.build_opponents FOLDER

FOLDER is what `benchmarks/gpu/train_qa.py` wrote.
"""

import shutil
import sys
from pathlib import Path

import torch

from openrebench.core.card import Profile
from openrebench.core.catalog import find_card
from openrebench.environments.gpt2_qa import sources
from openrebench.environments.gpt2_qa.asking import answers
from openrebench.environments.gpt2_qa.sampling import Sampling
from openrebench.textbase import weights
from openrebench.textbase.gpt import GPT

# The base as it is given; the rival as somebody careful would use it.
SAMPLINGS = {"base": Sampling(), "rival": Sampling(0.7, 40, 1.0)}
SPLITS = ("score", "final")


def answered(models: dict[str, GPT], profile: Profile, passes: int) -> dict[str, sources.Answers]:
    """Let models answer both hidden splits, several times."""
    texts, found = sources.texts(profile), {}
    for split in SPLITS:
        questions = [pair.question for pair in sources.pairs(profile, split)]
        found[split] = {
            name: [
                answers(model, texts, questions, SAMPLINGS[name], seed=100 * k + i, batch=512)
                for k in range(passes)
            ]
            for i, (name, model) in enumerate(models.items())
        }
    return found


def main() -> None:
    torch.set_num_threads(1)
    made, profile = Path(sys.argv[1]), find_card("gpt2_qa").profile("small")
    config = sources.config(profile)
    shutil.copyfile(made / "base.safetensors", sources.HERE / "agent" / "model.safetensors")
    shutil.copyfile(made / "judge_192.safetensors", sources.HERE / "hidden" / "judge.safetensors")
    names = {"base": "base", "rival": "rival_b"}
    models = {k: weights.load_model(made / f"{v}.safetensors", config) for k, v in names.items()}
    whole = profile.model_copy(update={"parameters": profile.parameters | {"questions": 320}})
    found = answered(models, whole, profile.integer("opponent_passes"))
    sources.save_opponents(sources.HERE / "hidden" / "opponents.xz", found)


if __name__ == "__main__":
    main()
