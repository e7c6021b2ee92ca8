"""Rows of a finetuning file: read, formatted, tokenised."""

import json
from pathlib import Path
from typing import Iterator

from foundry.config import Config
from foundry.tokenizer import Tokenizer

KEYS = ("prompt", "response")


class RowError(ValueError):
    """A row of the input file can't be used."""


def read_rows(path: str | Path) -> Iterator[dict[str, str]]:
    """Yield the rows of a JSON-lines file with `prompt` and `response`."""
    with open(path, encoding="utf-8") as file:
        for number, line in enumerate(file, 1):
            if not line.strip():
                continue
            row = json.loads(line)
            for key in KEYS:
                if not isinstance(row.get(key), str):
                    raise RowError(f"{path} line {number}: '{key}' is missing or not text")
            yield row


def format_row(row: dict[str, str], dataset: Config) -> tuple[str, str]:
    """Put a row's texts into the templates."""
    prompt = dataset.prompt_template.replace("{prompt}", row["prompt"])
    response = dataset.response_template.replace("{response}", row["response"])
    return prompt, response


def tokenize_row(
    row: dict[str, str], tokenizer: Tokenizer, dataset: Config, max_seq_len: int
) -> dict[str, list[int]] | None:
    """Tokenise one row; None if no token of the response is left after cutting.

    `loss_mask` is 1 where a token is a target: those of the response, and of the prompt but for
    its first if `target_prompts` is set.
    """
    prompt, response = format_row(row, dataset)
    prompt_ids = tokenizer.encode(prompt)
    response_ids = tokenizer.encode(response)
    input_ids = prompt_ids + response_ids
    learned = 1 if dataset.target_prompts else 0
    loss_mask = [learned] * len(prompt_ids) + [1] * len(response_ids)
    loss_mask[0] = 0
    input_ids, loss_mask = input_ids[:max_seq_len], loss_mask[:max_seq_len]
    if len(prompt_ids) >= len(input_ids):
        return None
    return {"input_ids": input_ids, "loss_mask": loss_mask}
