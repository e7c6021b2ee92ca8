"""Where a profile's models, questions and judge come from: `source` in its parameters.

- shipped: this folder
- made: trained on this machine's GPU (`hidden/make_gpu.py`)
- hub: gpt2-xl and Alpaca through Hugging Face's loaders (`openrebench.environments.gpt2_qa.full`)

Nothing here imports torch before it is used.
"""

import json
import lzma
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from openrebench.core.card import Profile
from openrebench.environments.gpt2_qa import full
from openrebench.environments.gpt2_qa.questions import Pair, load_pairs
from openrebench.errors import ReBenchError
from openrebench.textbase import assets, source

if TYPE_CHECKING:
    from openrebench.environments.gpt2_qa.asking import Texts
    from openrebench.environments.gpt2_qa.judging import Judge
    from openrebench.textbase.gpt import GPT, GPTConfig

HERE = Path(__file__).parent
NEEDED = ("torch", "safetensors", "tokenizers")
MAKE = "re-bench assets gpt2_qa/gpu"
OPPONENTS = ("base", "rival")
MADE_FILES = ("base.safetensors", "judge.safetensors", "opponents.xz")
Answers = dict[str, list[list[str]]]  # by opponent: passes over all questions of a split


def unavailable(profile: Profile) -> str | None:
    """Say in one sentence what a profile misses here, or None."""
    if problem := source.lacking(profile, NEEDED):
        return problem
    if profile.parameters["source"] == "hub":
        return full.missing(profile, folder(profile))
    absent = [name for name in MADE_FILES[1:] if not (folder(profile) / name).is_file()]
    if absent:
        return f"{', '.join(absent)} not made on this machine; run: {MAKE}"
    if profile.parameters["judge"] == "smol":
        from openrebench.environments.gpt2_qa import smol

        return smol.missing()
    return None


def folder(profile: Profile) -> Path:
    """Give the folder with a profile's hidden material; only its owner reads those in the cache."""
    source = str(profile.parameters["source"])
    return HERE / "hidden" if source == "shipped" else assets.cache_folder() / f"gpt2_qa-{source}"


def config(profile: Profile, prefix: str = "") -> "GPTConfig":
    """Give the sizes of a profile's base model, or with `judge_` of its judge."""
    from openrebench.textbase.build import VOCABULARY
    from openrebench.textbase.gpt import GPTConfig

    layers, heads, width = (profile.integer(prefix + n) for n in ("layers", "heads", "width"))
    context = profile.integer("context")
    return GPTConfig(
        vocabulary=VOCABULARY, context=context, layers=layers, heads=heads, width=width
    )


def base(profile: Profile) -> "GPT":
    """Load the model that attempts start from, in fp32 and evaluation mode."""
    from openrebench.textbase import hub, weights

    source = profile.parameters["source"]
    if source == "hub":
        return hub.gpt2(str(profile.parameters["base"]))
    made = folder(profile) / "base.safetensors"
    path = HERE / "agent" / "model.safetensors" if source == "shipped" else made
    return weights.load_model(path, config(profile))


def texts(profile: Profile) -> "Texts":
    """Load a profile's tokenizer."""
    from openrebench.environments.gpt2_qa import asking

    if profile.parameters["source"] == "hub":
        return full.texts(profile)
    return asking.load_texts(assets.shipped("data/tokenizer.json"), 0)


def pairs(profile: Profile, split: str) -> list[Pair]:
    """Read the questions that a profile uses of a split: `dev`, `score` or `final`."""
    hub = profile.parameters["source"] == "hub"
    found = _pairs((folder(profile) if hub else HERE / "hidden") / f"{split}.xz")
    return found if split == "dev" else found[: profile.integer("questions")]


def opponents(profile: Profile, split: str) -> Answers:
    """Read what base and rival answered to the questions of `score` or `final`."""
    found = load_opponents(folder(profile) / "opponents.xz")[split]
    count, passes = profile.integer("questions"), profile.integer("opponent_passes")
    return {name: [row[:count] for row in found[name][:passes]] for name in OPPONENTS}


def judge(profile: Profile) -> "Judge":
    """Load a profile's judge.

    Raises:
        ReBenchError: The card names none that there is.
    """
    from openrebench.environments.gpt2_qa import judges, smol

    name = str(profile.parameters["judge"])
    if name == "smol":
        return smol.judge()
    if name == "inspect":
        return full.judge()
    if name != "marks":
        raise ReBenchError(f"judge is '{name}'; it must be marks, smol or inspect")
    path, sizes = folder(profile) / "judge.safetensors", config(profile, "judge_")
    model = judges.load_judge_model(path, sizes, profile.device)
    return judges.MarkJudge(model, texts(profile))


def save_opponents(path: Path, answers: dict[str, Answers]) -> None:
    """Write opponents' answers by split, compressed."""
    content = json.dumps(answers, ensure_ascii=False, indent=0).encode()
    path.write_bytes(lzma.compress(content, preset=9 | lzma.PRESET_EXTREME))


@cache
def load_opponents(path: Path) -> dict[str, Answers]:
    """Read what `save_opponents` wrote."""
    found: dict[str, Answers] = json.loads(lzma.decompress(path.read_bytes()))
    return found


@cache
def _pairs(path: Path) -> list[Pair]:
    return load_pairs(path)
