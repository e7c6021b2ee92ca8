"""Every wrong answer gets one clear sentence; nothing else does."""

import json
from pathlib import Path

import pytest

from openrebench.core.catalog import find_card
from openrebench.environments.scaling_law.answers import Answer, read_answer
from openrebench.environments.scaling_law.recipe import Family
from openrebench.errors import InvalidSubmission, Reason

PROFILE = find_card("scaling_law").profile("small")
FAMILY = Family.of(PROFILE)
BUDGET = float(PROFILE.parameters["c_big"])
RIGHT = {"n_embd": 48, "max_iters": FAMILY.iterations(48, BUDGET), "loss_prediction": 4.5}


def read(folder: Path, text: str) -> Answer:
    (folder / "answer.json").write_text(text)
    return read_answer(folder, PROFILE)


def changed(**fields: object) -> str:
    return json.dumps(RIGHT | fields)


def at(n_embd: int, share: float) -> str:
    return changed(n_embd=n_embd, max_iters=FAMILY.iterations(n_embd, share * BUDGET))


def test_a_right_answer_is_read(tmp_path: Path) -> None:
    assert read(tmp_path, json.dumps(RIGHT)) == Answer(*RIGHT.values())
    assert read(tmp_path, changed(note="fitted", loss_prediction=4)).loss_prediction == 4.0


@pytest.mark.parametrize("share", [0.901, 1.0, 1.099])
@pytest.mark.parametrize("n_embd", [24, 128, 192])
def test_answers_within_a_tenth_of_the_budget_are_valid(
    tmp_path: Path, n_embd: int, share: float
) -> None:
    assert read(tmp_path, at(n_embd, share)).n_embd == n_embd


@pytest.mark.parametrize(
    ("text", "reason", "says"),
    [
        ("", Reason.WRONG_OUTPUT, "not JSON"),
        ("[" * 100_000, Reason.WRONG_OUTPUT, "not JSON"),
        ("\udcff", Reason.WRONG_OUTPUT, "not JSON"),
        ("[48, 9000, 4.5]", Reason.WRONG_OUTPUT, "holds a list"),
        ("null", Reason.WRONG_OUTPUT, "holds null"),
        ('"48"', Reason.WRONG_OUTPUT, "holds a string"),
        ("7", Reason.WRONG_OUTPUT, "holds a number"),
        ('{"n_embd": 48, "n_embd": 56}', Reason.WRONG_OUTPUT, "key twice"),
        ('{"n_embd": 48, "max_iters": 900}', Reason.WRONG_OUTPUT, "lacks 'loss_prediction'"),
        (changed(better=True), Reason.WRONG_OUTPUT, '"better"'),
        (changed(note=3), Reason.WRONG_OUTPUT, "note is 3"),
        (changed(n_embd=48.0), Reason.WRONG_OUTPUT, "n_embd is 48.0; it must be an integer"),
        (changed(n_embd=True), Reason.WRONG_OUTPUT, "must be an integer"),
        (changed(max_iters="9000"), Reason.WRONG_OUTPUT, 'max_iters is "9000"'),
        (changed(max_iters=0), Reason.RULE_BROKEN, "from 1 to"),
        (changed(max_iters=-5), Reason.RULE_BROKEN, "from 1 to"),
        (changed(max_iters=10**80), Reason.RULE_BROKEN, "a huge number"),
        (f'{{"n_embd": {"9" * 5000}}}', Reason.WRONG_OUTPUT, "not JSON"),
        (changed(n_embd=50), Reason.RULE_BROKEN, "multiple of 8 from 24 to 192"),
        (at(8, 1.0), Reason.RULE_BROKEN, "n_embd is 8; it must be a multiple of 8 from 24"),
        (at(200, 1.0), Reason.RULE_BROKEN, "from 24 to 192"),
        (at(48, 0.89), Reason.RULE_BROKEN, "less than within 10%"),
        (at(48, 1.11), Reason.RULE_BROKEN, "more than within 10%"),
        (changed(max_iters=1), Reason.RULE_BROKEN, "less than within 10%"),
        (changed(loss_prediction=float("nan")), Reason.NON_FINITE, "nan; it must be finite"),
        (changed(loss_prediction=float("inf")), Reason.NON_FINITE, "inf; it must be finite"),
        (changed(loss_prediction=-1e308), Reason.RULE_BROKEN, "between 0 and 20"),
        (changed(loss_prediction=10**300), Reason.RULE_BROKEN, "a huge number"),
        (changed(loss_prediction="4.5"), Reason.WRONG_OUTPUT, "must be a number"),
        (changed(loss_prediction=None), Reason.WRONG_OUTPUT, "loss_prediction is null"),
    ],
    ids=range(30),
)
def test_a_wrong_answer_gets_one_clear_sentence(
    tmp_path: Path, text: str, reason: Reason, says: str
) -> None:
    (tmp_path / "answer.json").write_bytes(text.encode("utf-8", "surrogateescape"))
    with pytest.raises(InvalidSubmission) as caught:
        read_answer(tmp_path, PROFILE)
    assert caught.value.reason is reason, caught.value
    assert says in caught.value.message
    assert "\n" not in caught.value.message and len(caught.value.message) < 200


def test_a_missing_answer_is_named(tmp_path: Path) -> None:
    with pytest.raises(InvalidSubmission, match="answer.json is missing"):
        read_answer(tmp_path, PROFILE)
