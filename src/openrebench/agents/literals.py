"""Find literal numbers and booleans in source files, and change one of them."""

import io
import random
import re
import tokenize
from collections.abc import Iterator
from typing import NamedTuple

OTHER_SUFFIXES = frozenset({".json", ".toml", ".yaml", ".yml", ".c", ".h", ".cpp", ".cu", ".rs"})
ELSEWHERE = re.compile(r"(?<![\w.])(?:\d+\.\d+|\d+)(?![\w.])|\b(?:true|false)\b")
BOOLEANS = {"True": "False", "False": "True", "true": "false", "false": "true"}


class Literal(NamedTuple):
    """A literal at its place: characters `start` to `end` of a text."""

    start: int
    end: int
    text: str


def find_literals(suffix: str, text: str) -> list[Literal]:
    """List the literals of a file that can be changed; none in files of unknown kinds.

    Example:
        >>> [literal.text for literal in find_literals(".py", "f(True, 1024)  # not 3")]
        ['True', '1024']
    """
    if suffix == ".py":
        return list(_in_python(text))
    if suffix in OTHER_SUFFIXES:
        return [Literal(m.start(), m.end(), m[0]) for m in ELSEWHERE.finditer(text)]
    return []


def _in_python(text: str) -> Iterator[Literal]:
    starts = [0]
    for line in text.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    try:
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            if token.type == tokenize.NUMBER or token.string in BOOLEANS:
                start = starts[token.start[0] - 1] + token.start[1]
                yield Literal(start, start + len(token.string), token.string)
    except (tokenize.TokenError, SyntaxError):
        return  # what could be read until there still counts


def changed(literal: str, rng: random.Random) -> str | None:
    """Draw another value for a literal; None for one of a kind that is left alone."""
    if literal in BOOLEANS:
        return BOOLEANS[literal]
    if re.fullmatch(r"\d+", literal):
        n = int(literal)
        return str(rng.choice([n + 1, max(0, n - 1), 2 * n, n // 2, 4 * n, n // 4]))
    try:
        value = float(literal)
    except ValueError:
        return None
    return f"{value * rng.choice([0.1, 0.5, 0.8, 1.25, 2.0, 10.0]):.6g}"


def replaced(text: str, literal: Literal, value: str) -> str:
    """Put a value in a literal's place."""
    return text[: literal.start] + value + text[literal.end :]
