"""Questions with their right answers, and how a question is put to a language model."""

import json
import lzma
from pathlib import Path
from typing import NamedTuple

TEMPLATE = "Question: {question}\nAnswer:"


class Pair(NamedTuple):
    """A question and its right answer."""

    question: str
    answer: str


def save_pairs(path: Path, pairs: list[Pair]) -> None:
    """Write pairs as lines of JSON, compressed; equal pairs give equal bytes."""
    text = "".join(json.dumps(pair, ensure_ascii=False) + "\n" for pair in pairs)
    path.write_bytes(lzma.compress(text.encode(), preset=9 | lzma.PRESET_EXTREME))


def load_pairs(path: Path) -> list[Pair]:
    """Read what `save_pairs` wrote."""
    lines = lzma.decompress(path.read_bytes()).decode().split("\n")
    return [Pair(*json.loads(line)) for line in lines if line]


def prompt(question: str) -> str:
    """Put a question the way all models here are asked."""
    return TEMPLATE.format(question=question)
