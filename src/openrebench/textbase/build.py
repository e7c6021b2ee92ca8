"""Rebuild the tokenizer and the token files that ship, from the Debian packages.

    apt-get install bible-kjv bible-kjv-text wordnet-base dict-gcide
    python -m openrebench.textbase.build

The result is the same bytes every time, for the same versions of packages and `tokenizers`.
"""

import json
import random
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from openrebench.textbase import corpora
from openrebench.textbase.tokens import Tokens, save_tokens

if TYPE_CHECKING:
    from tokenizers import Tokenizer

HERE = Path(__file__).parent
VOCABULARY = 2048
SPECIAL = ("<|end|>", "<|user|>", "<|bot|>", "<|mask|>")
GCIDE = Path("/usr/share/dictd/gcide.dict.dz")
WORDNET = Path("/usr/share/wordnet")
SHUFFLE_SEED = 20261130
WEBSTER_DOCUMENTS = 44_000  # of 67,000: what keeps the shipped files below 5 MB
WORDNET_DOCUMENTS = 26_000  # of 117,000
SPLITS = {"final": 131_072, "score": 131_072, "dev": 200_000}  # tokens; `base` is the rest
HIDDEN = ("final", "score")


def documents() -> list[str]:
    """Collect the documents in a fixed random order, so that all splits have the same mix."""
    shuffle = random.Random(SHUFFLE_SEED)
    webster, wordnet = corpora.webster(GCIDE), corpora.wordnet(WORDNET)
    shuffle.shuffle(webster)
    shuffle.shuffle(wordnet)
    found = [
        *corpora.king_james(),
        *webster[:WEBSTER_DOCUMENTS],
        *wordnet[:WORDNET_DOCUMENTS],
    ]
    shuffle.shuffle(found)
    return found


def train_tokenizer(texts: Iterable[str], vocabulary: int = VOCABULARY) -> "Tokenizer":
    """Train a byte-level BPE with the special tokens first: `<|end|>` is 0."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=vocabulary,
        special_tokens=list(SPECIAL),
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator(texts, trainer)
    return tokenizer


def encode(tokenizer: "Tokenizer", texts: list[str]) -> list[Tokens]:
    """Encode documents, each ended by `<|end|>`."""
    end = tokenizer.token_to_id(SPECIAL[0])
    return [np.array([*e.ids, end], np.uint16) for e in tokenizer.encode_batch(texts)]


def split(encoded: list[Tokens]) -> Iterator[tuple[str, Tokens]]:
    """Deal whole documents out to the splits, in order, until each has its tokens."""
    rest = iter(encoded)
    for name, size in SPLITS.items():
        taken: list[Tokens] = []
        while sum(map(len, taken)) < size:
            taken.append(next(rest))
        yield name, np.concatenate(taken)[:size]
    yield "base", np.concatenate(list(rest))


def pieces(tokenizer: "Tokenizer") -> list[str]:
    """Give the text of every token, by id; bytes that are no text alone are shown as such."""
    return [tokenizer.decode([i], skip_special_tokens=False) for i in range(VOCABULARY)]


def main() -> None:
    """Write `data/` and `hidden/` beside this file."""
    texts = documents()
    tokenizer = train_tokenizer(texts)
    tokenizer.save(str(HERE / "data" / "tokenizer.json"), pretty=False)
    vocabulary = json.dumps(pieces(tokenizer), ensure_ascii=False, indent=0)
    (HERE / "data" / "vocabulary.json").write_text(vocabulary + "\n", encoding="utf-8")
    for name, tokens in split(encode(tokenizer, texts)):
        folder = HERE / ("hidden" if name in HIDDEN else "data")
        save_tokens(folder / f"{name}.xz", tokens)
        print(f"{name}: {len(tokens):,} tokens")  # noqa: T201 - a script's report


if __name__ == "__main__":
    main()
