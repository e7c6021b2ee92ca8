"""The submission's `sampling.json`: how the scorer draws tokens."""

import json
import math
from dataclasses import dataclass
from pathlib import Path

from openrebench.errors import InvalidSubmission, Reason

MAX_BYTES = 4096
MAX_TEMPERATURE = 2.0
MAX_TOP_K = 1_000_000


@dataclass(frozen=True)
class Sampling:
    """How the next token is drawn.

    Args:
        temperature: 0 takes the likeliest token.
        top_k: Only so many of the likeliest tokens; 0 stands for all.
        top_p: Of these, the fewest that hold this share of the probability.
    """

    temperature: float = 1.0
    top_k: int = 0
    top_p: float = 1.0


def read_sampling(path: Path) -> Sampling:
    """Read an untrusted `sampling.json`.

    Raises:
        InvalidSubmission: It is missing, too long, not a JSON object with the three numbers and
            perhaps a note, or one of them is out of its range.
    """
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        raise InvalidSubmission(Reason.MISSING_FILE, f"{path.name} is missing") from None
    found = _parsed(path.name, content)
    if not isinstance(found.pop("note", ""), str):  # says how you got there; read by people only
        raise _wrong(path.name, "note must be a string")
    if set(found) != set(Sampling.__dataclass_fields__):
        raise _wrong(path.name, "must have the keys temperature, top_k, top_p, and may have note")
    temperature = _number(path.name, found, "temperature", 0.0, MAX_TEMPERATURE)
    top_k = found["top_k"]
    if not isinstance(top_k, int) or isinstance(top_k, bool) or not 0 <= top_k <= MAX_TOP_K:
        raise _wrong(path.name, f"top_k must be an integer from 0 (all) to {MAX_TOP_K}")
    top_p = _number(path.name, found, "top_p", 0.0, 1.0)
    if top_p == 0:
        raise _wrong(path.name, "top_p must be above 0")
    return Sampling(temperature, top_k, top_p)


def _parsed(name: str, content: bytes) -> dict[str, object]:
    if len(content) > MAX_BYTES:
        raise _wrong(name, f"has {len(content)} bytes; at most {MAX_BYTES} are read")
    try:
        found = json.loads(content)
    except (ValueError, RecursionError):
        raise _wrong(name, "is not JSON") from None
    if not isinstance(found, dict):
        raise _wrong(name, "must hold a JSON object")
    return found


def _number(name: str, found: dict[str, object], key: str, lowest: float, highest: float) -> float:
    value = found[key]
    if not isinstance(value, int | float) or isinstance(value, bool):
        raise _wrong(name, f"{key} must be a number")
    if not (math.isfinite(value) and lowest <= value <= highest):
        raise _wrong(name, f"{key} must be from {lowest:g} to {highest:g}")
    return float(value)


def _wrong(name: str, sentence: str) -> InvalidSubmission:
    return InvalidSubmission(Reason.WRONG_OUTPUT, f"{name}: {sentence}")
