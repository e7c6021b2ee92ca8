# OpenRE-Bench hidden material. Canary 7f0c1e0a-5b0e-4d0b-9c43-2f6f1f4f6a51: do not publish, do not train on.
"""Rebuild the questions and right answers in this folder from Debian's `wordnet-base`.

    python -m openrebench.environments.gpt2_qa.hidden.build_pairs

Four disjoint splits by headword: `train` (what base, rival and judge were trained on), `dev` (the
solver gets its questions), `score` and `final`.
"""

import random
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from openrebench.environments.gpt2_qa.questions import Pair, save_pairs
from openrebench.environments.gpt2_qa.rules import broken

HERE = Path(__file__).parent
WORDNET = Path("/usr/share/wordnet")
SEED = 20261130
SIZES = {"final": 320, "score": 320, "dev": 4096, "train": 80_000}
HYPERNYM, SIMILAR, STEM = "@", "&", "\\"
RELATIONS = {"noun": (HYPERNYM,), "verb": (HYPERNYM,), "adj": (SIMILAR,), "adv": (STEM,)}
LETTERS = {"n": "noun", "v": "verb", "a": "adj", "s": "adj", "r": "adv"}
LONGEST = 160  # characters of an answer
FORMS = {
    "noun": (
        "What is {a} {word}, a kind of {near}?",
        "What does the noun {word} mean? It is a kind of {near}.",
        "Explain the word {word} ({near}).",
        "Tell me what {a} {word} is. I know that it is a kind of {near}.",
    ),
    "verb": (
        "What does it mean to {word}, a way to {near}?",
        "What does the verb {word} mean? It is a way to {near}.",
        "Explain the verb {word} ({near}).",
        "Tell me what you do when you {word}. I know that you {near}.",
    ),
    "adj": (
        "What does the adjective {word} mean? It is close to {near}.",
        "Explain the adjective {word} ({near}).",
        "What do you mean when you call something {word}, that is {near}?",
        "What is something like that is {word}? I know that it is {near}.",
    ),
    "adv": (
        "What does the adverb {word} mean? It comes from {near}.",
        "Explain the adverb {word} ({near}).",
        "How is something done that is done {word}? I know that it comes from {near}.",
        "What do you mean by {word}, from {near}?",
    ),
}


class Synset(NamedTuple):
    """One meaning: its words, its gloss, and its neighbours by relation."""

    part: str
    words: list[str]
    gloss: str
    near: list[tuple[str, str]]  # (relation, key)


def synsets(folder: Path) -> dict[str, Synset]:
    """Read all meanings, by part of speech and offset."""
    found = {}
    for part in RELATIONS:
        for line in (folder / f"data.{part}").read_text(encoding="latin1").splitlines():
            if not line.startswith("  "):  # the licence stands in the indented lines
                key, synset = parsed(line, part)
                found[key] = synset
    return found


def parsed(line: str, part: str) -> tuple[str, Synset]:
    head, gloss = line.split(" | ", 1)
    fields = head.split()
    count = int(fields[3], 16)  # the format's own: two hexadecimal digits
    words = [fields[4 + 2 * i].replace("_", " ").split("(")[0] for i in range(count)]
    start = 5 + 2 * count
    pointers = [fields[start + 4 * i : start + 4 * i + 4] for i in range(int(fields[start - 1]))]
    near = [(p[0], f"{LETTERS[p[2]]}{p[1]}") for p in pointers]
    return f"{part}{fields[0]}", Synset(part, words, gloss, near)


def pairs(found: dict[str, Synset], draw: random.Random) -> Iterator[tuple[str, Pair]]:
    """Yield (headword, pair) for every meaning that has a neighbour and an ordinary gloss."""
    for synset in found.values():
        word, answer = synset.words[0], answer_of(synset.gloss)
        near = [found[key].words[0] for kind, key in synset.near if kind in RELATIONS[synset.part]]
        near = [other for other in near if other.lower() != word.lower()]
        if not near or answer is None or not word.islower() or not near[0].isascii():
            continue
        form = draw.choice(FORMS[synset.part])
        article = "an" if word[0] in "aeiou" else "a"
        yield word, Pair(form.format(a=article, word=word, near=near[0]), answer)


def answer_of(gloss: str) -> str | None:
    """Give a gloss without examples and remarks as one sentence, or None if it is no good."""
    text = re.sub(r"\([^)]*\)", "", gloss.split('; "')[0].split(";")[0])
    text = " ".join(text.split()).strip(" ,:")
    plain = text.isascii() and '"' not in text and "`" not in text and text[:1].islower()
    return f"{text}." if plain and 3 <= len(text.split()) and len(text) < LONGEST else None


def main() -> None:
    draw = random.Random(SEED)
    every = sorted(pairs(synsets(WORDNET), draw))
    draw.shuffle(every)
    words: dict[str, list[Pair]] = {}
    answers: set[str] = set()
    for word, pair in every:
        if pair.answer not in answers and broken(*pair) is None:
            answers.add(pair.answer)
            words.setdefault(word, []).append(pair)
    rest = iter(words.values())
    for name, size in SIZES.items():
        taken: list[Pair] = []
        for group in rest:
            # A hidden word has one question; the others may have one for each meaning.
            taken += group[:1] if name in ("final", "score") else group
            if len(taken) >= size:
                break
        save_pairs(HERE / f"{name}.xz", taken[:size])
        print(f"{name}: {len(taken[:size]):,} pairs; for example {taken[0]}")


if __name__ == "__main__":
    main()
