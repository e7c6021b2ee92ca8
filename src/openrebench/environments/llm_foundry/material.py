"""What runs are made of: rows of text, the base model, and the configuration of a size."""

import json
import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from openrebench.core.card import Profile
from openrebench.environments.llm_foundry import full, large
from openrebench.textbase import assets

if TYPE_CHECKING:
    from torch import Tensor

HERE = Path(__file__).parent
AGENT, REFERENCE = HERE / "agent", HERE / "hidden" / "reference"
CONFIG, ROWS, BASE = "finetune.yaml", "train_data.jsonl", "base_model"
WEIGHTS, SIZES, TOKENIZER = "model.safetensors", "config.json", "tokenizer.json"
ENTRY = re.compile(r"([^\n()]{1,60}) \((noun|verb|adj|adv)\): (.+)")
KINDS = {"adj": "adjective", "adv": "adverb"}
QUESTIONS = (
    'What does "{word}" mean?',
    'Define the {kind} "{word}".',
    "Give a meaning of the word {word}.",
    "{word} ({kind}): what is it?",
    "Someone wrote: {word}. Explain that {kind} in a few words.",
)
YAML_KEY = "yaml."  # parameters of a profile with this prefix change its configuration
PARTS = {
    "tokens": "wte",
    "positions": "wpe",
    "norm": "norm_f",
    "attention": "attn",
    "qkv": "Wqkv",
    "out": "out_proj",
    "up": "ffn.up_proj",
    "down": "ffn.down_proj",
}
Row = dict[str, str]


@cache
def glossary(split: str) -> tuple[Row, ...]:
    """Read words and their glosses out of a split of the shipped text: `dev` or `base`."""
    vocabulary = json.loads(assets.shipped("data/vocabulary.json").read_text(encoding="utf-8"))
    text = "".join(vocabulary[token] for token in assets.split(split))
    found = (ENTRY.fullmatch(document) for document in text.split(vocabulary[0]))
    return tuple(
        {"word": match[1], "kind": KINDS.get(match[2], match[2]), "gloss": match[3]}
        for match in found
        if match
    )


def draw_rows(split: str, count: int, rng: np.random.Generator) -> list[Row]:
    """Draw rows of `prompt` and `response` without repetition, as far as there are entries."""
    entries = glossary(split)
    chosen = rng.choice(len(entries), count, replace=count > len(entries))
    return [_row(entries[i], QUESTIONS[rng.integers(len(QUESTIONS))]) for i in chosen]


def _row(entry: Row, question: str) -> Row:
    word = entry["word"].split(", ")[0]
    return {"prompt": question.format(word=word, kind=entry["kind"]), "response": entry["gloss"]}


def rows_text(rows: list[Row]) -> str:
    """Write rows as JSON lines."""
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)


def configuration(profile: Profile, changes: Mapping[str, Any] | None = None) -> str:
    """Give the configuration of a size as YAML, with some options changed.

    Args:
        profile: Its parameters `yaml.a.b` set option `a.b`.
        changes: Further options by dotted name.

    Returns:
        The repository's own text if nothing is changed, else its options without comments.
    """
    import yaml

    if not changes and not _own_options(profile):
        return (repository(profile) / CONFIG).read_text(encoding="utf-8")
    return str(yaml.safe_dump(options_of(profile, changes), sort_keys=False))


def options_of(profile: Profile, changes: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Give the configuration of a size as data; arguments as for `configuration`.

    Raises:
        KeyError: The configuration has no such option.
    """
    import yaml

    text = (repository(profile) / CONFIG).read_text(encoding="utf-8")
    options: dict[str, Any] = yaml.safe_load(text)
    for path, value in {**_own_options(profile), **(changes or {})}.items():
        *parents, last = path.split(".")
        level = options
        for parent in parents:
            level = level[parent]
        if last not in level:
            raise KeyError(f"{CONFIG} has no option '{path}'")
        level[last] = value
    return options


def _own_options(profile: Profile) -> dict[str, Any]:
    named = profile.parameters.items()
    return {name.removeprefix(YAML_KEY): v for name, v in named if name.startswith(YAML_KEY)}


def repository(profile: Profile) -> Path:
    """Give the folder of the repository as attempts get it; its runs define what is right."""
    return full.repository(profile) if profile.parameters["base"] == "hub" else AGENT


def write_base(folder: Path, profile: Profile) -> None:
    """Write the base model of a size: weights, sizes, tokenizer."""
    folder.mkdir(parents=True, exist_ok=True)
    if profile.parameters["base"] == "hub":
        full.write_base(folder, profile)
        return
    (folder / TOKENIZER).write_bytes(assets.shipped("data/tokenizer.json").read_bytes())
    if profile.parameters["base"] == "made":
        large.write_base(folder, profile)
    else:
        _write_shipped_base(folder)


def _write_shipped_base(folder: Path) -> None:
    from safetensors.torch import save_file

    save_file(shipped_weights(), folder / WEIGHTS)
    (folder / WEIGHTS).chmod(0o644)
    config = json.loads((HERE / "data" / "base.json").read_text(encoding="utf-8"))["config"]
    sizes = {
        "vocab_size": config["vocabulary"],
        "max_seq_len": config["context"],
        "n_layers": config["layers"],
        "n_heads": config["heads"],
        "d_model": config["width"],
        "expansion_ratio": 4,
    }
    (folder / SIZES).write_text(json.dumps(sizes, indent=1) + "\n", encoding="utf-8")


def shipped_weights() -> "dict[str, Tensor]":
    """Read the shipped base model, in fp32, under the names of the workspace's model."""
    from safetensors.torch import load_file

    stored = load_file(HERE / "data" / "base.safetensors")
    return {_translated(name): value.float().contiguous() for name, value in stored.items()}


def _translated(name: str) -> str:
    """Give the workspace's name of a weight of ours, for example `blocks.0.up.weight`."""
    parts = (PARTS.get(part, part) for part in name.split("."))
    return "transformer." + ".".join(parts)
