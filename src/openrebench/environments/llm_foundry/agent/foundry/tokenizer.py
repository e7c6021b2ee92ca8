"""A byte-level BPE tokenizer, read from a `tokenizer.json`."""

import json
import re
from pathlib import Path

# Words with a leading space, numbers, punctuation, whitespace: GPT-2's pattern for ASCII text.
PATTERN = re.compile(
    r"'s|'t|'re|'ve|'m|'ll|'d| ?[A-Za-z]+| ?[0-9]+| ?[^\sA-Za-z0-9]+|\s+(?!\S)|\s+"
)


def bytes_to_unicode() -> dict[int, str]:
    """Map every byte to a printable character, as GPT-2's tokenizer does."""
    printable = [*range(33, 127), *range(161, 173), *range(174, 256)]
    characters = printable[:]
    extra = 0
    for byte in range(256):
        if byte not in printable:
            printable.append(byte)
            characters.append(256 + extra)
            extra += 1
    return {byte: chr(character) for byte, character in zip(printable, characters)}


def get_pairs(word: tuple[str, ...]) -> set[tuple[str, str]]:
    """Give the pairs of neighbouring symbols in a word."""
    pairs = set()
    previous = word[0]
    for symbol in word[1:]:
        pairs.add((previous, symbol))
        previous = symbol
    return pairs


class Tokenizer:
    """Encodes text to token ids and back."""

    def __init__(self, path: str | Path) -> None:
        with open(path, encoding="utf-8") as file:
            data = json.load(file)
        self.encoder: dict[str, int] = data["model"]["vocab"]
        self.decoder = {index: token for token, index in self.encoder.items()}
        merges = [tuple(m.split(" ")) if isinstance(m, str) else tuple(m) for m in data["model"]["merges"]]
        self.bpe_ranks = dict(zip(merges, range(len(merges))))
        self.byte_encoder = bytes_to_unicode()
        self.byte_decoder = {character: byte for byte, character in self.byte_encoder.items()}
        self.special = {t["content"]: t["id"] for t in data["added_tokens"]}
        self.eos_token_id = self.special["<|end|>"]
        self.pad_token_id = self.eos_token_id

    def __len__(self) -> int:
        return len(self.encoder)

    def bpe(self, token: str) -> list[str]:
        """Merge a word's characters, the most frequent pairs first."""
        word = tuple(token)
        if len(word) == 1:
            return [token]
        pairs = get_pairs(word)
        while True:
            bigram = min(pairs, key=lambda pair: self.bpe_ranks.get(pair, float("inf")))
            if bigram not in self.bpe_ranks:
                break
            first, second = bigram
            merged: list[str] = []
            i = 0
            while i < len(word):
                if i < len(word) - 1 and word[i] == first and word[i + 1] == second:
                    merged.append(first + second)
                    i += 2
                else:
                    merged.append(word[i])
                    i += 1
            word = tuple(merged)
            if len(word) == 1:
                break
            pairs = get_pairs(word)
        return list(word)

    def encode_ordinary(self, text: str) -> list[int]:
        """Encode text in which nothing is special."""
        ids = []
        for match in re.findall(PATTERN, text):
            token = "".join(self.byte_encoder[byte] for byte in match.encode("utf-8"))
            ids.extend(self.encoder[piece] for piece in self.bpe(token))
        return ids

    def encode(self, text: str) -> list[int]:
        """Encode text; special tokens written out in it become their ids."""
        splitter = "(" + "|".join(re.escape(token) for token in self.special) + ")"
        ids = []
        for part in re.split(splitter, text):
            if part in self.special:
                ids.append(self.special[part])
            elif part:
                ids.extend(self.encode_ordinary(part))
        return ids

    def decode(self, ids: list[int]) -> str:
        """Give the text of token ids."""
        text = ""
        for index in ids:
            token = self.decoder.get(int(index), "")
            if token in self.special:
                text += token
            else:
                text += bytes(self.byte_decoder[c] for c in token).decode("utf-8", "replace")
        return text
