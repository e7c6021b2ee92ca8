# OpenRE-Bench hidden material. Canary 7f0c1e0a-5b0e-4d0b-9c43-2f6f1f4f6a51: do not publish, do not train on.
"""Make what the profile `gpu` needs, on this machine's GPU: base, rival, judge and their answers.

`re-bench assets gpt2_qa/gpu` calls it. The same steps as for the models that ship, with larger models.
"""

import json
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch

from openrebench.core.card import Profile
from openrebench.environments.gpt2_qa import sources
from openrebench.environments.gpt2_qa.asking import Texts, answers
from openrebench.environments.gpt2_qa.hidden import making
from openrebench.environments.gpt2_qa.hidden.build_opponents import answered
from openrebench.environments.gpt2_qa.hidden.making import Tuning
from openrebench.environments.gpt2_qa.questions import Pair
from openrebench.errors import ReBenchError
from openrebench.textbase import assets, weights
from openrebench.textbase.gpt import GPT
from openrebench.textbase.training import Recipe


@dataclass(frozen=True, kw_only=True)
class Plan:
    """How much is done; `pairs` and `tokens` bound what is read, for tests."""

    base_steps: int = 3000
    rival: Tuning = Tuning(steps=600, batch=128, rate=5e-4, pairs=10_000)
    reader_steps: int = 3000
    judge: Tuning = Tuning(steps=4000, batch=48, rate=3e-4)
    window_batch: int = 256
    sample_batch: int = 4096
    pairs: int | None = None
    tokens: int | None = None


def make(profile: Profile, plan: Plan, folder: Path) -> dict[str, float]:
    """Make all models into a folder; gives the seconds that each took.

    Raises:
        ReBenchError: They are to be made on a GPU, and there is none.
    """
    if profile.device == "cuda" and not torch.cuda.is_available():
        raise ReBenchError("models of the gpu profile are trained on a GPU; none was found")
    texts, device = sources.texts(profile), profile.device
    pairs = sources.load_pairs(sources.HERE / "hidden" / "train.xz")[: plan.pairs]
    plain, dev = (_tokens(name, plan.tokens) for name in ("base", "dev"))
    folder.mkdir(parents=True, exist_ok=True)
    clock = _Clock()
    recipe = Recipe(
        config=sources.config(profile), steps=plan.base_steps, batch=plan.window_batch, rate=1.5e-3
    )
    base, _ = making.base_model(recipe, texts, pairs, plain, dev, device)
    weights.save_weights(folder / "base.safetensors", base)
    clock.lap("base")
    rival = making.rival_model(base, plan.rival, texts, pairs, device)
    models = {"base": base, "rival": rival}
    found = answered(models, profile, profile.integer("opponent_passes"))
    sources.save_opponents(folder / "opponents.xz", found)
    clock.lap("rival")
    recipe = Recipe(
        config=sources.config(profile, "judge_"), steps=plan.reader_steps,
        batch=plan.window_batch, rate=1.5e-3,
    )
    reader, _ = making.answering_model(recipe, texts, pairs, plain, dev, device)
    clock.lap("reader")
    beside = making.candidates(texts, pairs, _negatives(models, texts, pairs, plan.sample_batch))
    clock.lap("candidates")
    judge = making.judge_model(reader, plan.judge, beside, device)
    weights.save_tensors(folder / "judge.safetensors", judge.state_dict())
    clock.lap("judge")
    (folder / "made.json").write_text(json.dumps(clock.laps, indent=1) + "\n")
    return clock.laps


def _negatives(
    models: dict[str, GPT], texts: Texts, pairs: list[Pair], batch: int
) -> list[list[str]]:
    questions, (warm, plain) = [pair.question for pair in pairs], making.SAMPLED
    wanted = (("rival", warm, 1), ("rival", plain, 2), ("base", plain, 3))
    return [
        answers(models[name], texts, questions, sampling, seed=seed, batch=batch)
        for name, sampling, seed in wanted
    ]


def _tokens(split: str, count: int | None) -> torch.Tensor:
    return torch.from_numpy(assets.split(split)[:count].astype(np.int64))


class _Clock:
    def __init__(self) -> None:
        self.laps: dict[str, float] = {}
        self._last = time.monotonic()

    def lap(self, name: str) -> None:
        now = time.monotonic()
        self.laps[name] = round(now - self._last, 1)
        self._last = now
        print(f"{name}: {self.laps[name]} s", flush=True)
