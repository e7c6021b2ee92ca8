"""The published rules for answers of the self-contained sizes: what breaks one loses.

They hold whatever the judge thinks. An answer that breaks a rule loses against one that keeps all
of them; two that break one tie.
"""

import re
from collections import Counter
from collections.abc import Sequence
from itertools import pairwise

SHORTEST, LONGEST = 3, 40  # words
ENDS = (".", "!", "?")
REPEATED = 0.3  # share of an answer's word pairs that stood there before
ECHOED = 0.7  # share of an answer's longer words that stand in the question
LONGER = 4  # letters of a longer word
SAME = 2  # questions that may get the same answer

RULES = ("lines", "length", "ending", "repetition", "echo")  # and "canned", between answers


def broken(question: str, answer: str) -> str | None:
    """Name the first rule that one answer breaks, or None.

    Example:
        >>> broken("What is a puli, a kind of dog?", "a sheepdog with long cords of hair.")
        >>> broken("What is a puli, a kind of dog?", "a puli is a kind of dog.")
        'echo'
    """
    words = _words(answer)
    if "\n" in answer:
        return "lines"
    if not SHORTEST <= len(words) <= LONGEST:
        return "length"
    if not answer.endswith(ENDS):
        return "ending"
    if _repeated(words) > REPEATED:
        return "repetition"
    return "echo" if _echoed(question, words) > ECHOED else None


def canned(answers: Sequence[str]) -> list[bool]:
    """Tell which of the answers to different questions were given too often."""
    plain = [" ".join(_words(answer)) for answer in answers]
    count = Counter(plain)
    return [count[text] > SAME for text in plain]


def _words(text: str) -> list[str]:
    return re.findall(r"[a-z0-9'-]+", text.lower())


def _repeated(words: list[str]) -> float:
    """Give the share of neighbouring pairs that stood there before."""
    pairs = list(pairwise(words))
    return 1 - len(set(pairs)) / len(pairs)


def _echoed(question: str, words: list[str]) -> float:
    """Give the share of an answer's longer words that stand in the question; 0 if it has none."""
    longer = [word for word in words if len(word) >= LONGER]
    asked = set(_words(question))
    return sum(word in asked for word in longer) / len(longer) if longer else 0.0
