"""OpenWebText and GPT-2 through Hugging Face's own loaders, for the `full` profiles.

Names in a profile's parameters are repositories of the hub, or folders in the same formats.
"""

import importlib
import importlib.util
import itertools
import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from openrebench.core.card import Profile
from openrebench.errors import ReBenchError
from openrebench.textbase import assets
from openrebench.textbase.tokens import Tokens

if TYPE_CHECKING:
    from torch import Tensor

    from openrebench.textbase.gpt import GPT

NEEDED = ("transformers", "datasets")
MODEL_NAMES = ("large", "little")
# Documents are dealt out in the order of the data set; `base` is empty, `dev` is the rest.
HIDDEN_TOKENS = {"final": 2_100_000, "score": 2_100_000}
CONV1D = ("qkv.weight", "out.weight", "up.weight", "down.weight")  # GPT-2 stores their transposes
PARTS = {
    "tokens": "wte",
    "positions": "wpe",
    "blocks": "h",
    "norm": "ln_f",
    "norm_1": "ln_1",
    "attention": "attn",
    "qkv": "c_attn",
    "out": "c_proj",
    "norm_2": "ln_2",
    "up": "mlp.c_fc",
    "down": "mlp.c_proj",
}


def missing(profile: Profile) -> str | None:
    """Say in one sentence what of the hub is not here and how to get it, or None."""
    absent = [name for name in NEEDED if importlib.util.find_spec(name) is None]
    if absent:
        return f"needs {' and '.join(absent)}; pip install 'openrebench[full]'"
    wanted = [str(profile.parameters[k]) for k in MODEL_NAMES if k in profile.parameters]
    absent = [name for name in wanted if not has_model(name)]
    if not _tokens_file(profile, "score").is_file():
        absent.append(str(profile.parameters["dataset"]))
    if not absent:
        return None
    return f"{', '.join(absent)} not downloaded; online, run: re-bench assets ENVIRONMENT/full"


def fetch(profile: Profile) -> None:
    """Download what a profile needs, and tokenise its text into the cache.

    Raises:
        ReBenchError: The hub can't be reached, or a repository is not as expected.
    """
    for name in (str(profile.parameters[k]) for k in MODEL_NAMES if k in profile.parameters):
        loaded("GPT2LMHeadModel", name, offline=False)
    _tokenise(profile)


def split(profile: Profile, name: str) -> Tokens:
    """Read a tokenised split of the profile's data set from the cache.

    Raises:
        ReBenchError: It was not fetched.
    """
    if name == "base":
        return np.zeros(0, np.uint16)
    path = _tokens_file(profile, name)
    if not path.is_file():
        raise ReBenchError(missing(profile) or f"{path} is missing")
    return np.load(path, mmap_mode="r")  # type: ignore[no-any-return]


def gpt2(name: str) -> "GPT":
    """Load a GPT-2 of the hub, or of a folder, into our own model, in fp32.

    Raises:
        ReBenchError: It is not there.
    """
    from openrebench.textbase.gpt import GPT, GPTConfig

    theirs = loaded("GPT2LMHeadModel", name, offline=True)
    sizes = theirs.config
    config = GPTConfig(
        vocabulary=sizes.vocab_size,
        context=sizes.n_positions,
        layers=sizes.n_layer,
        heads=sizes.n_head,
        width=sizes.n_embd,
        bias=True,
    )
    ours, weights = GPT(config), theirs.transformer.state_dict()
    ours.load_state_dict({key: _translated(key, weights) for key in ours.state_dict()})
    return ours.eval()


def _translated(ours: str, weights: dict[str, "Tensor"]) -> "Tensor":
    """Find the weight of GPT-2 that one of ours stands for, for example `blocks.0.up.bias`."""
    theirs = ".".join(PARTS.get(part, part) for part in ours.split("."))
    value = weights[theirs].float()
    return value.t().contiguous() if ours.endswith(CONV1D) else value


def has_model(name: str) -> bool:
    """Tell whether a model is in the hub's cache, or in a folder."""
    try:
        loaded("AutoConfig", name, offline=True)
    except ReBenchError:
        return False
    return True


def loaded(kind: str, name: str, *, offline: bool) -> Any:  # noqa: ANN401 - theirs is untyped
    """Load something of `transformers` by the name of its class.

    Raises:
        ReBenchError: It is not there, or not what was expected.
    """
    loader = getattr(importlib.import_module("transformers"), kind)
    try:
        return loader.from_pretrained(name, local_files_only=offline)
    except (OSError, ValueError) as error:
        sentence = str(error).splitlines()[0]
        raise ReBenchError(f"{name}: can't be loaded from the hub ({sentence})") from error


def _tokens_file(profile: Profile, name: str) -> Path:
    dataset, tokenizer = (str(profile.parameters[k]) for k in ("dataset", "tokenizer"))
    label = f"{dataset}-{tokenizer}".strip("/").replace("/", "--")
    return assets.cache_folder() / f"{label}-{name}.npy"


def _tokenise(profile: Profile) -> None:
    """Write the hidden splits, then as many tokens as `dev` may have."""
    tokenizer = loaded("AutoTokenizer", str(profile.parameters["tokenizer"]), offline=False)
    stream = _encoded(str(profile.parameters["dataset"]), tokenizer)
    wanted = {**HIDDEN_TOKENS, "dev": profile.integer("dev_tokens")}
    for name, count in wanted.items():
        taken = np.fromiter(itertools.islice(stream, count), np.uint16)
        path = _tokens_file(profile, name)
        temporary = path.with_suffix(f".{os.getpid()}.npy")
        np.save(temporary, taken)
        temporary.replace(path)


def _encoded(dataset: str, tokenizer: Any) -> Iterator[int]:  # noqa: ANN401 - theirs is untyped
    """Yield the tokens of all documents, each ended by the tokenizer's end token."""
    datasets = importlib.import_module("datasets")
    try:
        rows = datasets.load_dataset(dataset, split="train", streaming=True)
        for row in rows:
            yield from tokenizer(row["text"], verbose=False)["input_ids"]
            yield tokenizer.eos_token_id
    except (OSError, ValueError, datasets.exceptions.DatasetsError) as error:
        sentence = str(error).splitlines()[0]
        raise ReBenchError(f"{dataset}: can't be read from the hub ({sentence})") from error
