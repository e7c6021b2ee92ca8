"""Budgets, and the task that carries them."""

from pathlib import Path

import pytest

from openrebench.core.catalog import load_environment
from openrebench.errors import ReBenchError
from openrebench.harness.budget import START_S, Budget
from openrebench.harness.lifecycle import Terms
from openrebench.harness.tasks import attempts_root, briefing, environment_task, register_all


@pytest.mark.parametrize(
    ("text", "working", "wall"),
    [
        ("30m", 1800, 2850),
        ("2h", 7200, 9600),
        ("8h", 28800, 36600),
        ("90s", 90, 712),
        (90, 90, 712),
    ],
)
def test_a_budget_sets_both_limits(text: str | int, working: int, wall: int) -> None:
    budget = Budget.parse(text)
    assert (budget.working_limit, budget.wall_limit) == (working, wall)


def test_a_wrong_budget_is_one_sentence() -> None:
    with pytest.raises(ReBenchError, match="'soon' is not a duration"):
        Budget.parse("soon")


def test_a_task_for_every_card_with_its_limits_inside(tmp_path, monkeypatch) -> None:
    monkeypatch.setenv("OPENREBENCH_ATTEMPTS", str(tmp_path))
    tasks = register_all()
    assert {"guess_number", "prefix_sum"} <= tasks.keys()
    task = tasks["guess_number"](budget="2h", profile="slow", epochs=3)
    assert (task.working_limit, task.time_limit, task.epochs) == (7200, START_S + 9600, 3)
    assert (task.fail_on_error, task.score_on_error) == (False, True)
    assert "You have 2h of working time" in str(task.dataset[0].input)
    assert attempts_root(None) == tmp_path


def test_the_briefing_holds_the_instructions_and_nothing_hidden() -> None:
    environment, root = load_environment("guess"), Path("attempts")
    terms = Terms(environment=environment, profile="small", budget=Budget(1800), root=root)
    text = briefing(terms)
    assert text.startswith("# Guess a number") and "30m of working time" in text
    assert "$" not in text and "42" not in text


def test_further_limits_are_inspects(tmp_path) -> None:
    environment = load_environment("guess")
    terms = Terms(environment=environment, profile="small", budget=Budget(60), root=tmp_path)
    task = environment_task(terms, limits={"token_limit": 1000, "cost_limit": 5.0})
    assert (task.token_limit, task.cost_limit, task.working_limit) == (1000, 5.0, 60)
