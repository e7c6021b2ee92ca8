"""The published size: gpt2-xl, Alpaca's instructions, and a judge that Inspect reaches.

`re-bench assets gpt2_qa/full` downloads all and lets the opponents answer. Names in the profile's
parameters are repositories of the hub, or folders in the same formats. The judge is the Inspect
model named in $OPENREBENCH_QA_JUDGE.
"""

import importlib
import importlib.util
import os
import random
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from openrebench.core.card import Profile
from openrebench.environments.gpt2_qa.questions import Pair, save_pairs
from openrebench.errors import ReBenchError

if TYPE_CHECKING:
    from openrebench.environments.gpt2_qa.asking import Texts
    from openrebench.environments.gpt2_qa.judging import Judge

JUDGE_VARIABLE = "OPENREBENCH_QA_JUDGE"
NEEDED = ("transformers", "datasets", "inspect_ai")
FILES = ("dev.xz", "score.xz", "final.xz", "opponents.xz")
DEAL_SEED = 20261130
LONGEST = 200  # tokens of a question that is used
OPPONENT_SEEDS = {"base": 1, "rival": 2}


def missing(profile: Profile, folder: Path) -> str | None:
    """Say in one sentence what of the hub is not here and how to get it, or None."""
    absent = [name for name in NEEDED if importlib.util.find_spec(name) is None]
    if absent:
        return f"needs {' and '.join(absent)}; pip install 'openrebench[full,agents]'"
    from openrebench.textbase import hub

    wanted = [str(profile.parameters["base"])]
    absent = [name for name in wanted if not hub.has_model(name)]
    if absent or not all((folder / name).is_file() for name in FILES):
        names = ", ".join([*absent, str(profile.parameters["dataset"])])
        return f"{names}: not downloaded; online, run: re-bench assets gpt2_qa/full"
    if not os.environ.get(JUDGE_VARIABLE):
        return f"names no judge; set {JUDGE_VARIABLE} to an Inspect model, such as vllm/some-model"
    return None


def fetch(profile: Profile, folder: Path) -> None:
    """Download everything, deal the questions out, and let base and rival answer.

    Raises:
        ReBenchError: The hub can't be reached, or a repository is not as expected.
    """
    folder.mkdir(parents=True, exist_ok=True)
    dealt = deal(profile, list(rows(str(profile.parameters["dataset"]))))
    for split, pairs in dealt.items():
        save_pairs(folder / f"{split}.xz", pairs)
    _write_opponents(profile, folder, dealt)


def deal(profile: Profile, pairs: list[Pair]) -> dict[str, list[Pair]]:
    """Deal questions out to the splits, in a fixed random order; too long ones are left out."""
    tokens = texts(profile).encode_all([pair.question for pair in pairs])
    kept = [p for p, row in zip(pairs, tokens, strict=True) if len(row) <= LONGEST]
    random.Random(DEAL_SEED).shuffle(kept)
    count = profile.integer("questions")
    return {"final": kept[:count], "score": kept[count : 2 * count], "dev": kept[2 * count :]}


def rows(dataset: str) -> Iterator[Pair]:
    """Yield instructions, with their input below, and outputs of an Alpaca-like data set.

    Raises:
        ReBenchError: It can't be read from the hub.
    """
    datasets = importlib.import_module("datasets")
    try:
        for row in datasets.load_dataset(dataset, split="train"):
            question = "\n\n".join(filter(None, (row["instruction"], row["input"])))
            yield Pair(question.strip(), row["output"].strip())
    except (OSError, ValueError, datasets.exceptions.DatasetsError) as error:
        sentence = str(error).splitlines()[0]
        raise ReBenchError(f"{dataset}: can't be read from the hub ({sentence})") from error


def texts(profile: Profile) -> "Texts":
    """Load the base model's tokenizer from the hub's cache."""
    return _texts(str(profile.parameters["base"]))


@cache
def _texts(name: str) -> "Texts":
    from openrebench.environments.gpt2_qa.asking import Texts
    from openrebench.textbase import hub

    theirs: Any = hub.loaded("AutoTokenizer", name, offline=hub.has_model(name))
    return Texts(theirs.backend_tokenizer, int(theirs.eos_token_id))


def judge() -> "Judge":
    """Give the judge that $OPENREBENCH_QA_JUDGE names.

    Raises:
        ReBenchError: It names none.
    """
    from openrebench.broker.inspect_model import InspectModel
    from openrebench.environments.gpt2_qa.asked_judge import AskedJudge

    name = os.environ.get(JUDGE_VARIABLE)
    if not name:
        raise ReBenchError(f"set {JUDGE_VARIABLE} to an Inspect model, such as vllm/some-model")
    return AskedJudge(InspectModel(name))


def _write_opponents(profile: Profile, folder: Path, dealt: dict[str, list[Pair]]) -> None:
    """Let base and rival answer the hidden questions once for every pass."""
    from openrebench.environments.gpt2_qa import sources
    from openrebench.environments.gpt2_qa.asking import answers
    from openrebench.environments.gpt2_qa.sampling import Sampling
    from openrebench.textbase import hub

    found: dict[str, sources.Answers] = {"score": {}, "final": {}}
    for name, seed in OPPONENT_SEEDS.items():
        repository = str(profile.parameters[name])
        hub.loaded("GPT2LMHeadModel", repository, offline=False)
        model = hub.gpt2(repository).to(profile.device)
        for split, said in found.items():
            questions = [pair.question for pair in dealt[split]]
            said[name] = [
                answers(
                    model, texts(profile), questions, Sampling(),
                    seed=seed + 10 * k, batch=profile.integer("batch"),
                )
                for k in range(profile.integer("opponent_passes"))
            ]  # fmt: skip
    sources.save_opponents(folder / "opponents.xz", found)
