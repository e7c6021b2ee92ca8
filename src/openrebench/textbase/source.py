"""Where a profile's text and models come from: `source` in its parameters.

- shipped: the text and base models of this package
- made: the shipped text; larger base models made on this machine's GPU, kept in the cache
- hub: OpenWebText and GPT-2, through Hugging Face's loaders
"""

import importlib.util
import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from openrebench.core.card import Profile
from openrebench.isolation.device import device_fingerprint
from openrebench.textbase import assets, hub, made
from openrebench.textbase.tokens import Tokens

if TYPE_CHECKING:
    from torch import Tensor

    from openrebench.textbase.gpt import GPT

NEEDED = ("torch", "safetensors")
INSTALL = "pip install 'openrebench[text]'"


def lacking(profile: Profile, packages: tuple[str, ...] = NEEDED) -> str | None:
    """Say in one sentence which packages or device a profile misses here, or None."""
    missing = [name for name in packages if importlib.util.find_spec(name) is None]
    if missing:
        return f"needs {' and '.join(missing)}; {INSTALL}"
    if profile.device == "cuda" and not device_fingerprint("cuda").available:
        return "needs an NVIDIA GPU and its driver; none was found"
    return None


def unavailable(profile: Profile) -> str | None:
    """Say in one sentence what a profile of a text environment misses here."""
    if problem := lacking(profile):
        return problem
    if profile.parameters["source"] == "hub":
        return hub.missing(profile)
    return made.missing(profile) if profile.parameters["source"] == "made" else None


def fetch(profile: Profile) -> None:
    """Get what a profile of a text environment needs; nothing for what ships.

    Raises:
        ReBenchError: It can't be got; one sentence says why.
    """
    if profile.parameters["source"] == "hub":
        hub.fetch(profile)
    elif profile.parameters["source"] == "made":
        made.make()


def tokens(profile: Profile, split: str) -> "Tensor":
    """Load a split: `base`, `dev`, `score` or `final`.

    Returns:
        (n,), int64.
    """
    import torch

    return torch.from_numpy(_tokens(profile, split).astype(np.int64))


def model(profile: Profile, which: str) -> "GPT":
    """Load the intact `large` or `little` model, in fp32 and evaluation mode."""
    if profile.parameters["source"] == "hub":
        return hub.gpt2(str(profile.parameters[which]))
    if profile.parameters["source"] == "made":
        return made.model(which)
    from openrebench.textbase import recipes, weights

    config = recipes.RECIPES[which].config
    folder = "hidden" if which == "large" else "data"
    return weights.load_model(assets.shipped(f"{folder}/{which}.safetensors"), config)


def write_tokens(path: Path, profile: Profile, splits: tuple[str, ...]) -> None:
    """Write splits one after the other as raw uint16, at most `dev_tokens` of them in all."""
    joined = np.concatenate([_tokens(profile, name) for name in splits])
    limit = profile.parameters.get("dev_tokens")
    path.write_bytes(joined[: int(limit) if limit else None].astype("<u2").tobytes())


def write_sizes(path: Path, profile: Profile, more: Mapping[str, object] | None = None) -> None:
    """Write the profile's sizes, and what else there is, for the code in the workspace."""
    sizes = {k: v for k, v in profile.parameters.items() if isinstance(v, int)}
    found = {**sizes, "device": profile.device, **(more or {})}
    path.write_text(json.dumps(found, indent=1) + "\n")


def write_vocabulary(path: Path, profile: Profile) -> None:
    """Write the text of every token, where the profile has the shipped vocabulary."""
    if profile.parameters["source"] != "hub":
        path.write_bytes(assets.shipped("data/vocabulary.json").read_bytes())


@contextmanager
def one_thread() -> Iterator[None]:
    """Compute on one thread: on a machine in use, more are many times slower."""
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def _tokens(profile: Profile, split: str) -> Tokens:
    if profile.parameters["source"] == "hub":
        return hub.split(profile, split)
    return assets.split(split)
