"""Read an answer strictly: what it says, or one sentence on what is wrong with it."""

import json
import math
from pathlib import Path
from typing import NamedTuple, NoReturn

from openrebench.core.card import Profile
from openrebench.environments.scaling_law.recipe import HEAD_WIDTH, Family
from openrebench.errors import InvalidSubmission, Reason

FILE = "answer.json"
KEYS = ("n_embd", "max_iters", "loss_prediction")
NOTE = "note"  # optional; for people
TOLERANCE = 0.1  # of the budget, either way
MAX_LOSS = 20.0
MAX_ITERS = 10**9
SHOWN = 40


class Answer(NamedTuple):
    """A configuration for the big budget, and the loss it is said to reach in nats."""

    n_embd: int
    max_iters: int
    loss_prediction: float


def read_answer(folder: Path, profile: Profile) -> Answer:
    """Read and check `answer.json`.

    Raises:
        InvalidSubmission: It is missing, not the object asked for, or outside of the budget.
    """
    answer = _parse(folder / FILE)
    check_width(answer.n_embd, profile.integer("min_width"), profile.integer("max_width"))
    budget = float(profile.parameters["c_big"])
    cost = Family.of(profile).flop(answer.n_embd, answer.max_iters)
    if abs(cost / budget - 1) > TOLERANCE:
        side = "more" if cost > budget else "less"
        _refuse(
            Reason.RULE_BROKEN,
            f"the configuration costs {cost:.4g} FLOP, which is {side} than within "
            f"{TOLERANCE:.0%} of the budget of {budget:.4g}",
        )
    return answer


def check_width(n_embd: int, lowest: int, highest: int) -> None:
    """Refuse a width that is not a multiple of 8 in a range.

    Raises:
        InvalidSubmission: It isn't.
    """
    if n_embd % HEAD_WIDTH or not lowest <= n_embd <= highest:
        _refuse(
            Reason.RULE_BROKEN,
            f"n_embd is {_shown(n_embd)}; it must be a multiple of {HEAD_WIDTH} "
            f"from {lowest} to {highest}",
        )


def _parse(path: Path) -> Answer:
    try:
        data = json.loads(path.read_text(encoding="utf-8"), object_pairs_hook=_unique)
    except FileNotFoundError:
        _refuse(Reason.MISSING_FILE, f"{FILE} is missing")
    except (ValueError, RecursionError):
        _refuse(Reason.WRONG_OUTPUT, f"{FILE} is not JSON")
    if not isinstance(data, dict):
        _refuse(Reason.WRONG_OUTPUT, f"{FILE} holds {_kind(data)}; it must hold one object")
    _check_keys(data)
    n_embd, max_iters = (_integer(name, data[name]) for name in KEYS[:2])
    return Answer(n_embd, max_iters, _loss(data["loss_prediction"]))


def _unique(pairs: list[tuple[str, object]]) -> dict[str, object]:
    found = dict(pairs)
    if len(found) < len(pairs):
        _refuse(Reason.WRONG_OUTPUT, f"{FILE} has a key twice")
    return found


def _check_keys(data: dict[str, object]) -> None:
    missing = [key for key in KEYS if key not in data]
    extra = [key for key in data if key not in (*KEYS, NOTE)]
    if missing:
        _refuse(Reason.WRONG_OUTPUT, f"{FILE} lacks '{missing[0]}'")
    if extra:
        _refuse(
            Reason.WRONG_OUTPUT,
            f"{FILE} has the key {_shown(extra[0])}; it must have only {', '.join(KEYS)}",
        )
    if not isinstance(data.get(NOTE, ""), str):
        _refuse(Reason.WRONG_OUTPUT, f"{NOTE} is {_shown(data[NOTE])}; it must be a string")


def _integer(name: str, value: object) -> int:
    if not isinstance(value, int) or isinstance(value, bool):
        _refuse(Reason.WRONG_OUTPUT, f"{name} is {_shown(value)}; it must be an integer")
    if not 1 <= value <= MAX_ITERS:
        _refuse(Reason.RULE_BROKEN, f"{name} is {_shown(value)}; it must be from 1 to {MAX_ITERS}")
    return value


def _loss(value: object) -> float:
    if not isinstance(value, int | float) or isinstance(value, bool):
        _refuse(Reason.WRONG_OUTPUT, f"loss_prediction is {_shown(value)}; it must be a number")
    if isinstance(value, float) and not math.isfinite(value):
        _refuse(Reason.NON_FINITE, f"loss_prediction is {value}; it must be finite")
    if not 0 < value < MAX_LOSS:
        _refuse(
            Reason.RULE_BROKEN,
            f"loss_prediction is {_shown(value)}; it must be between 0 and {MAX_LOSS:g} nats",
        )
    return float(value)


def _kind(value: object) -> str:
    names = {list: "a list", str: "a string", bool: "a boolean", type(None): "null"}
    return names.get(type(value), "a number")


def _shown(value: object) -> str:
    """Show a value as JSON, cut short; a huge integer as what it is."""
    if isinstance(value, int) and abs(value) > 10**SHOWN:
        return "a huge number"
    text = json.dumps(value)
    return text if len(text) <= SHOWN else text[:SHOWN] + "..."


def _refuse(reason: Reason, sentence: str) -> NoReturn:
    raise InvalidSubmission(reason, sentence)
