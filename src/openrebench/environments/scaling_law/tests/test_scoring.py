"""Scores: hidden, flagged without experiments, and what guesses reach."""

import json
from pathlib import Path

import numpy as np
import pytest

from openrebench.core.catalog import load_environment
from openrebench.core.result import Outcome, ScoreResult
from openrebench.core.scoring import score_submission
from openrebench.core.seed import Seed
from openrebench.core.service import Journal, scoring
from openrebench.core.workspace import instructions, stage
from openrebench.environments.scaling_law.answers import read_answer
from openrebench.environments.scaling_law.environment import (
    UNSUPPORTED,
    lowest_loss,
    surface_of,
)
from openrebench.environments.scaling_law.recipe import Family
from openrebench.isolation.local import LocalRunner

ENVIRONMENT = load_environment("scaling_law")
CARD, PROFILE = ENVIRONMENT.card, ENVIRONMENT.card.profile("small")
SURFACE = surface_of(CARD.folder, PROFILE)
GUESSES = 1000
DOCS = Path("docs/environments/scaling_law.md")


def write(folder: Path, n_embd: int, share: float, prediction: float) -> Path:
    steps = SURFACE.family.iterations(n_embd, share * SURFACE.budget)
    answer = {"n_embd": n_embd, "max_iters": steps, "loss_prediction": prediction}
    (folder / "answer.json").write_text(json.dumps(answer))
    return folder


def score(folder: Path, runner: LocalRunner, profile: str = "small") -> ScoreResult:
    result = score_submission(ENVIRONMENT, folder, profile, runner)
    assert result.outcome is Outcome.SCORED, result
    return result


def random_scores() -> np.ndarray:
    """Scores of legal answers drawn at random; predictions as a person might guess."""
    rng, best = np.random.default_rng(0), lowest_loss(SURFACE, PROFILE)
    widths = rng.integers(24 // 8, 192 // 8 + 1, GUESSES) * 8
    shares, predictions = rng.uniform(0.9, 1.1, GUESSES), rng.uniform(3.5, 6.0, GUESSES)
    steps = [SURFACE.family.iterations(d, s * SURFACE.budget) for d, s in zip(widths, shares)]  # noqa: B905
    losses = SURFACE.losses(widths.astype(float), np.array(steps, float))
    return 1 - (losses - best + np.abs(predictions - losses))


def test_the_best_answer_scores_one_and_no_more(tmp_path: Path, runner: LocalRunner) -> None:
    best, width = SURFACE.best(24, 192, 1.1)
    result = score(write(tmp_path, width, 1.1, round(best, 4)), runner)
    assert result.raw == pytest.approx(1.0, abs=0.002) and result.raw <= 1.0
    steps = read_answer(tmp_path, PROFILE).max_iters
    assert result.details["loss"] == pytest.approx(SURFACE.loss(width, steps), abs=1e-3)


def test_the_solver_is_told_no_score(tmp_path: Path, runner: LocalRunner) -> None:
    assert not CARD.score.visible and CARD.score.counts == "last"
    result = score(write(tmp_path, 64, 1.0, 4.6), runner)
    assert result.message.startswith("the configuration costs 100.0% of the budget")
    assert str(result.raw) not in result.message and "4." not in result.message


def test_the_feedback_profile_tells_the_score(tmp_path: Path, runner: LocalRunner) -> None:
    hidden = score(write(tmp_path, 64, 1.0, 4.6), runner)
    shown = score(tmp_path, runner, "feedback")
    assert shown.raw == hidden.raw and f"score {shown.raw}" in shown.message
    assert shown.environment.endswith("/feedback")
    assert "but not the score" in instructions(ENVIRONMENT, "small")
    assert "and the score" in instructions(ENVIRONMENT, "feedback")


def test_feedback_differs_from_small_in_nothing_else() -> None:
    small, feedback = (dict(CARD.profile(name).parameters) for name in ("small", "feedback"))
    for name in ("feedback", "told"):
        del small[name], feedback[name]
    assert small == feedback


def test_an_answer_without_runs_is_flagged(tmp_path: Path, runner: LocalRunner) -> None:
    write(tmp_path, 64, 1.0, 4.6)
    assert score(tmp_path, runner).flags == (), "outside of an attempt nothing is known of runs"
    with scoring(tmp_path):
        assert score(tmp_path, runner).flags == (UNSUPPORTED,)
        assert score(CARD.folder / "agent", runner).flags == (), "the given answer is nobody's"
        journal = Journal(tmp_path / "runs.jsonl")
        journal.append({"event": "begun", "run": 0, "flop": int(6e11)})
        journal.append({"event": "begun", "run": 1, "flop": int(1e11)})
        journal.append({"event": "done", "run": 1, "loss": 5.3})
        assert score(tmp_path, runner).flags == (UNSUPPORTED,), "4 % in finished runs are too few"
        journal.append({"event": "done", "run": 0, "loss": 5.0})
        result = score(tmp_path, runner)
    assert result.flags == () and "29.2% of their allowance" in result.message


@pytest.mark.skipif(not DOCS.exists(), reason="the documentation is in a checkout only")
def test_guesses_are_in_the_docs() -> None:
    scores = random_scores()
    rows = DOCS.read_text()
    for q in (5, 25, 50, 75, 95, 99, 100):
        assert f"| {q} % | {np.percentile(scores, q):.2f} |" in rows, q
    assert f"{np.mean(scores > 0.8):.1%} of them score above 0.8" in rows


def test_flop_are_counted_by_the_formula_in_the_instructions() -> None:
    family = Family.of(PROFILE)
    assert family.flop(48, 8477) == 6 * (12 * 2 * 48**2 + 2048 * 48) * 4 * 64 * 8477
    assert "6 * (12 * 2 * n_embd^2 + 2048 * n_embd) * 4 * 64 * max_iters" in instructions(
        ENVIRONMENT, "small"
    )


def test_what_was_not_measured_is_unavailable() -> None:
    reason = ENVIRONMENT.unavailable(CARD.profile("full"))
    assert reason and "\n" not in reason


def test_the_gpu_profile_has_a_start_and_a_reference_of_its_own(
    tmp_path: Path, runner: LocalRunner
) -> None:
    stage(ENVIRONMENT, "gpu", tmp_path / "workspace", seed=Seed.fresh())
    start = score_submission(ENVIRONMENT, tmp_path / "workspace", "gpu", runner)
    reference = score_submission(ENVIRONMENT, ENVIRONMENT.reference("gpu"), "gpu", runner)
    assert (start.raw, reference.raw) == (-0.2325, 0.5785)
    stage(ENVIRONMENT, "small", tmp_path / "small", seed=Seed.fresh())
    assert read_answer(tmp_path / "small", CARD.profile("small")) == read_answer(
        CARD.folder / "agent", CARD.profile("small")
    )


def test_the_reference_reaches_nine_tenths_of_an_oracle(
    tmp_path: Path, runner: LocalRunner
) -> None:
    best, width = SURFACE.best(24, 192, 1.1)
    oracle = score(write(tmp_path, width, 1.1, best), runner)
    reference = score(CARD.folder / "hidden" / "reference", runner)
    assert oracle.raw is not None and reference.raw is not None
    assert reference.raw >= 0.9 * oracle.raw


def test_the_start_is_a_plain_guess(runner: LocalRunner) -> None:
    start = score(CARD.folder / "agent", runner)
    assert start.raw is not None and 0.1 < start.raw < 0.3
