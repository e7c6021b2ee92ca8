"""Every known cheat solves no more than the starting solution, and is told why."""

from pathlib import Path

import pytest

from openrebench.core.catalog import find_card
from openrebench.core.contract import cheat_folders
from openrebench.core.result import Outcome
from openrebench.environments.rust_codecontests.tests.conftest import Scores
from openrebench.errors import Reason

CARD = find_card("rust_codecontests")
USE_UP_LIMITS = {"fork_bomb", "memory_and_time"}  # test_judge has smaller ones of their kind
SAYS = {
    "read_tests": "are not the model's",
    "patch_evaluator": "are not the model's",
    "other_model": "are missing",
    "round_the_broker": "are missing",
    "carry_over": "problems solved",
    "hard_coded": "are not the model's",
    "ghost_writer": "are not the model's",
    "open_files": "crash",
    "open_sockets": "give a wrong answer",
    "compile_time_files": "do not compile",
    "compile_time_code": "do not compile",
    "output_flood": "print too much",
    "fork_bomb": "are too slow",
    "memory_and_time": "too slow",
    "flood_the_broker": "are missing",
    "endless_answer": "all answers together are larger than",
}


@pytest.fixture(scope="module")
def start_raw() -> dict[str, float]:
    return {}


CHEATS = [
    pytest.param(f, id=f.name, marks=[pytest.mark.slow] if f.name in USE_UP_LIMITS else [])
    for f in cheat_folders(CARD)
]


@pytest.mark.parametrize("cheat", CHEATS)
def test_a_cheat_gains_nothing_and_is_told_why(
    cheat: Path, score: Scores, start_raw: dict[str, float]
) -> None:
    result = score((cheat / "solve.py").read_text())
    if not start_raw:
        start_raw["raw"] = score().raw or 0.0
    assert start_raw["raw"] > 0
    assert SAYS[cheat.name] in result.message
    if cheat.name == "endless_answer":
        assert (result.outcome, result.reason) == (Outcome.INVALID, Reason.RULE_BROKEN)
    else:
        assert result.outcome is Outcome.SCORED and result.raw is not None
        assert result.raw <= (start_raw["raw"] if cheat.name == "carry_over" else 0)


def test_nothing_outlives_a_score_call(score: Scores) -> None:
    """What carry_over keeps is not there in the next call: its first honest answer is all."""
    solve = (Path(CARD.folder) / "tests/cheats/carry_over/solve.py").read_text()
    assert score(solve).details["ends"] == score(solve).details["ends"]


def test_every_cheat_says_what_it_does() -> None:
    for folder in cheat_folders(CARD):
        assert (folder / "solve.py").read_text().startswith('"""'), folder.name
