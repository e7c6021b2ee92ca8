"""What a secret variant changes: rows, order, seed, and options of the configuration."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from openrebench.core.card import Profile
from openrebench.environments.llm_foundry import full, material
from openrebench.environments.llm_foundry.material import Row

Options = dict[str, Any]
RATE = "optimizer.lr"  # its values are shares of the size's own rate
DATASET = "train_loader.dataset."
# Options that change what is learned, and hardly how much work that is: one in each timed run.
SAME_WORK: dict[str, tuple[Any, ...]] = {
    "optimizer.lr": (0.6, 0.8, 1.2, 1.6),
    "optimizer.betas": ([0.8, 0.95], [0.9, 0.9], [0.95, 0.98]),
    "optimizer.eps": (1e-5, 1e-4),
    "optimizer.weight_decay": (0.1, 0.3, 1.0),
    "scheduler.t_warmup": ("2ba", "20ba", "30ba"),
    "gradient_clipping.clipping_threshold": (0.25, 0.5),
    "loss.label_smoothing": (0.05, 0.1),
    "loss.z_loss": (1e-3, 5e-3),
    f"{DATASET}shuffle": (False,),
}
# Options that change the work too: in the short run, together with one of those above.
OTHER_WORK: dict[str, tuple[Any, ...]] = {
    "max_seq_len": (24, 40, 56),
    "global_train_batch_size": (4, 6, 12),
    "max_duration": ("2ep", "5ba", "11ba"),
    "model.frozen": (
        ["transformer.wte"],
        ["transformer.blocks.0"],
        ["transformer.blocks.1.attn", "transformer.norm_f"],
    ),
    "scheduler.name": ("linear_decay_with_warmup",),
    "train_loader.drop_last": (True,),
    f"{DATASET}target_prompts": (True,),
    f"{DATASET}prompt_template": ("Q: {prompt}\nA:", "<|user|>Please answer. {prompt}<|bot|>"),
    f"{DATASET}response_template": (" {response}", "{response} That is all.<|end|>"),
}
# Rows that a repository has to cope with: text outside ASCII, special tokens written out, blank
# space, repetitions, an empty answer, and one longer than any sequence.
ODD_ROWS: tuple[Row, ...] = (
    {"prompt": "Où est le café? \u65e5\u672c", "response": "là-bas — «voilà»"},
    {"prompt": "What is <|bot|> for?", "response": "It ends a turn, <|end|> ends the talk."},
    {"prompt": "  two  spaces\n\n", "response": "tabs\tand\r\nlines "},
    {"prompt": "Say it twice.", "response": "again"},
    {"prompt": "Say it twice.", "response": "again"},
    {"prompt": "Nothing?", "response": ""},
    {"prompt": "Count.", "response": " ".join(str(i) for i in range(400))},
    {"prompt": "word " * 300, "response": "too far away"},
)


@dataclass(frozen=True, kw_only=True)
class Variant:
    """One run: where its inputs and its right outcome lie, and what is different in it.

    Args:
        inputs: Folder with rows and configuration.
        base: Folder of the base model.
        truth: Folder with what the given repository made of it.
        changed: Options that are not the size's own, and the seed.
    """

    inputs: Path
    base: Path
    truth: Path
    changed: Mapping[str, Any] = field(default_factory=dict)


def draw_options(rng: np.random.Generator, profile: Profile, *, short: bool) -> Options:
    """Choose a seed and what else to change: one option, and in short runs another of any kind."""
    table = full.SAME_WORK if profile.parameters["base"] == "hub" else SAME_WORK
    options = dict([_one(table, rng)])
    if short:
        options.update([_one(OTHER_WORK, rng)])
    if RATE in options:
        own = material.options_of(profile)["optimizer"]["lr"]
        options[RATE] = float(f"{own * options[RATE]:.3g}")
    return {"seed": int(rng.integers(1 << 31)), **options}


def _one(table: Mapping[str, tuple[Any, ...]], rng: np.random.Generator) -> tuple[str, Any]:
    name = list(table)[rng.integers(len(table))]
    return name, table[name][rng.integers(len(table[name]))]


def draw_rows(rng: np.random.Generator, profile: Profile, *, short: bool) -> list[Row]:
    """Draw a variant's rows; short runs get odd ones among them."""
    if not short:
        return material.draw_rows("base", profile.integer("rows"), rng)
    rows = [*material.draw_rows("base", profile.integer("short_rows"), rng), *ODD_ROWS]
    return [rows[i] for i in rng.permutation(len(rows))]


def write_inputs(
    folder: Path, profile: Profile, rng: np.random.Generator, *, short: bool
) -> Options:
    """Write a new variant's rows and configuration; give the options that it changes."""
    options = draw_options(rng, profile, short=short)
    folder.mkdir(parents=True)
    rows = material.rows_text(draw_rows(rng, profile, short=short))
    (folder / material.ROWS).write_text(rows, encoding="utf-8")
    (folder / material.CONFIG).write_text(material.configuration(profile, options))
    return options
