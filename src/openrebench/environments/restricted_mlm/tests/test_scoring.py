"""Scoring through the sandbox: what models get, and that known cheats gain nothing."""

import shutil
from pathlib import Path

import pytest

from openrebench.core.catalog import load_environment
from openrebench.core.contract import cheat_folders, cheat_submission
from openrebench.core.environment import Environment
from openrebench.core.result import Outcome, ScoreResult
from openrebench.core.scoring import score_submission
from openrebench.errors import Reason
from openrebench.isolation.local import LocalRunner

pytest.importorskip("torch")

ENVIRONMENT = load_environment("restricted_mlm")
CARD = ENVIRONMENT.card
START = CARD.folder / "agent"
REFUSED = {  # by the rules, with the operation's name
    "softmax", "softmax_by_another_door", "low_level_operation", "in_place_exponent",
    "out_variant", "division", "layer_norm", "autograd_function", "forward_hook",
    "cast_and_look_up", "cast_by_copying", "coarse_type", "bits", "python_number",
    "python_condition", "comparison", "selection", "maximum", "custom_operation", "own_record",
    "memory_between_batches",
}  # fmt: skip
LINEAR = "import torch\ndef build():\n    return torch.nn.Linear(2, 2)\n"
NOT_BETTER = 0.02  # nats below the start's loss


@pytest.fixture(scope="module")
def reduced() -> Environment:
    """The same scoring on an eighth of the text."""
    profile = CARD.profile("small")
    limits = profile.limits.model_copy(update={"load_timeout_s": 20.0})
    parameters = profile.parameters | {"sequences": 256}
    small = profile.model_copy(update={"parameters": parameters, "limits": limits})
    return type(ENVIRONMENT)(CARD.model_copy(update={"profiles": {"small": small}}))


@pytest.fixture(scope="module")
def start(reduced: Environment, runner: LocalRunner) -> ScoreResult:
    return score_submission(reduced, START, "small", runner)


def score_cheat(name: str, reduced: Environment, runner: LocalRunner) -> ScoreResult:
    with cheat_submission(CARD, CARD.folder / "tests" / "cheats" / name) as folder:
        return score_submission(reduced, folder, "small", runner)


def check_gains_nothing(name: str, result: ScoreResult, start: ScoreResult) -> None:
    assert result.outcome is not Outcome.ERROR, result
    if name in REFUSED:
        assert result.reason is Reason.RULE_BROKEN and "model.py:" in result.message, result
    if result.raw is not None:
        assert start.raw is not None and result.raw > start.raw - NOT_BETTER, result


def test_the_start_scores_and_the_same_each_time(
    reduced: Environment, runner: LocalRunner, start: ScoreResult
) -> None:
    again = score_submission(reduced, START, "small", runner)
    assert start.outcome is Outcome.SCORED and again.raw == start.raw
    assert 5.5 < (start.raw or 0) < 6.6
    assert start.details["split"] == "score"


@pytest.mark.parametrize("name", ["softmax", "ctypes_on_memory"])
def test_a_cheat_gains_nothing(
    name: str, reduced: Environment, runner: LocalRunner, start: ScoreResult
) -> None:
    check_gains_nothing(name, score_cheat(name, reduced, runner), start)


@pytest.mark.slow
@pytest.mark.parametrize("cheat", cheat_folders(CARD), ids=lambda folder: folder.name)
def test_every_cheat_gains_nothing(
    cheat: Path, reduced: Environment, runner: LocalRunner, start: ScoreResult
) -> None:
    check_gains_nothing(cheat.name, score_cheat(cheat.name, reduced, runner), start)


@pytest.mark.parametrize(
    ("text", "reason", "says"),
    [
        ("def build(:\n", Reason.IMPORT_FAILED, "SyntaxError"),
        (LINEAR, Reason.IMPORT_FAILED, "weight"),
    ],
)  # fmt: skip
def test_a_bad_model_gets_one_clear_sentence(
    tmp_path: Path, reduced: Environment, runner: LocalRunner, text: str, reason: Reason, says: str
) -> None:
    shutil.copy(START / "weights.safetensors", tmp_path)
    (tmp_path / "model.py").write_text(text)
    result = score_submission(reduced, tmp_path, "small", runner)
    assert result.reason is reason and says in result.message and "\n" not in result.message, result
