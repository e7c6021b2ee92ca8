"""Rows to tokens, in one pass and with every word tokenised once.

Canary 7f0c1e0a-5b0e-4d0b-9c43-2f6f1f4f6a51
"""

import json
import re

PATTERN = re.compile(
    r"'s|'t|'re|'ve|'m|'ll|'d| ?[A-Za-z]+| ?[0-9]+| ?[^\sA-Za-z0-9]+|\s+(?!\S)|\s+"
)


def byte_characters():
    printable = [*range(33, 127), *range(161, 173), *range(174, 256)]
    rest = [b for b in range(256) if b not in printable]
    return {b: chr(b) for b in printable} | {b: chr(256 + i) for i, b in enumerate(rest)}


class Tokenizer:
    def __init__(self, path):
        with open(path, encoding="utf-8") as file:
            data = json.load(file)
        self.vocab = data["model"]["vocab"]
        merges = data["model"]["merges"]
        pairs = (tuple(m.split(" ")) if isinstance(m, str) else tuple(m) for m in merges)
        self.ranks = {pair: rank for rank, pair in enumerate(pairs)}
        self.characters = byte_characters()
        self.special = {t["content"]: t["id"] for t in data["added_tokens"]}
        self.splitter = re.compile("(" + "|".join(map(re.escape, self.special)) + ")")
        self.words = {}

    def encode(self, text):
        ids = []
        for part in self.splitter.split(text):
            if part in self.special:
                ids.append(self.special[part])
                continue
            for word in PATTERN.findall(part):
                found = self.words.get(word)
                if found is None:
                    found = self.words[word] = self.merge(word)
                ids += found
        return ids

    def merge(self, word):
        symbols = [self.characters[byte] for byte in word.encode("utf-8")]
        whole = "".join(symbols)
        if len(symbols) == 1:
            return [self.vocab[whole]]
        missing = len(self.ranks)
        while len(symbols) > 1:
            pairs = list(zip(symbols, symbols[1:]))
            best = min(pairs, key=lambda pair: self.ranks.get(pair, missing))
            if best not in self.ranks:
                break
            merged, i = [], 0
            while i < len(symbols):
                if tuple(symbols[i : i + 2]) == best:
                    merged.append(symbols[i] + symbols[i + 1])
                    i += 2
                else:
                    merged.append(symbols[i])
                    i += 1
            symbols = merged
        return [self.vocab[s] for s in symbols]


def read(path, tokenizer, settings, longest):
    """Give (tokens, first target) of each row; a position is learned from the first target on."""
    rows = []
    with open(path, encoding="utf-8") as file:
        for line in file:
            if not line.strip():
                continue
            row = json.loads(line)
            prompt = tokenizer.encode(
                settings["prompt_template"].replace("{prompt}", row["prompt"])
            )
            response = tokenizer.encode(
                settings["response_template"].replace("{response}", row["response"])
            )
            tokens = (prompt + response)[:longest]
            if len(prompt) < len(tokens):
                rows.append((tokens, 1 if settings["target_prompts"] else max(1, len(prompt))))
    return rows
