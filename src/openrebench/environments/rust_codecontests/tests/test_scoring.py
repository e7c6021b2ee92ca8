"""A score call from the submission's files to the share solved."""

import json
from pathlib import Path

import pytest

from openrebench.core.attempt import Attempt, Solver
from openrebench.core.card import Profile
from openrebench.core.environment import Environment
from openrebench.core.reading import attempt_facts
from openrebench.core.result import Outcome
from openrebench.core.seed import Seed
from openrebench.core.service import Journal, open_door
from openrebench.core.workspace import stage
from openrebench.environments.rust_codecontests import judge, sources
from openrebench.environments.rust_codecontests.hidden import bank
from openrebench.environments.rust_codecontests.tests.conftest import Scores
from openrebench.errors import Reason
from openrebench.isolation.local import LocalRunner
from openrebench.isolation.runner import Limits

HONEST = """
from rust import extract
async def generate_solution(llm, problem):
    texts = await llm.complete("Rust program, please.\\n" + problem["description"], n=8)
    programs = [extract(t) for t in texts if "fn main" in t]
    %s
    return programs[0]
"""


def test_a_scaffold_is_scored_the_same_each_time(score: Scores) -> None:
    first, second = score(HONEST % ""), score(HONEST % "")
    assert first.outcome is Outcome.SCORED and first.raw is not None and first.raw > 0
    assert (first.raw, first.message) == (second.raw, second.message)
    assert first.message.startswith(f"{round(3 * first.raw)} of 3 problems solved")


def test_one_failing_problem_does_not_touch_the_others(score: Scores) -> None:
    result = score(HONEST % 'assert not problem["name"].startswith("01")')
    assert result.outcome is Outcome.SCORED and "1 are missing" in result.message


def test_problems_not_answered_in_time_are_not_solved(
    score: Scores, environment: Environment
) -> None:
    wait = 'import asyncio; await asyncio.sleep(99 if problem["name"].startswith("01") else 0)'
    result = score(HONEST % wait, hurried(environment))
    assert result.outcome is Outcome.SCORED and "1 are missing" in result.message


def hurried(environment: Environment) -> Environment:
    """Give the environment with seven seconds for all problems."""
    tiny = environment.card.profile("tiny")
    limits = tiny.limits.model_copy(update={"call_timeout_s": 7.0})
    profiles = {"tiny": tiny.model_copy(update={"limits": limits})}
    return type(environment)(environment.card.model_copy(update={"profiles": profiles}))


@pytest.mark.parametrize(
    ("solve", "reason", "says"),
    [
        ("import nothing_like_it", Reason.IMPORT_FAILED, "ModuleNotFoundError"),
        ("def generate_solution(llm, problem): ...", Reason.WRONG_SHAPE, "no `async def"),
        ("import os; os.abort()", Reason.CRASHED, "importing solve.py ended the process"),
        ("while True: pass", Reason.TIMED_OUT, "importing solve.py takes more than 4 s"),
        (
            "async def generate_solution(llm, problem): import os; os._exit(5)",
            Reason.CRASHED,
            "without an answer",
        ),
        (
            "async def generate_solution(llm, problem): print('x' * 10**7)",
            Reason.RULE_BROKEN,
            "printed more than",
        ),
    ],
)
def test_a_faulty_scaffold_is_invalid(score: Scores, solve: str, reason: Reason, says: str) -> None:
    result = score(solve)
    assert (result.outcome, result.reason) == (Outcome.INVALID, reason)
    assert says in result.message


def test_calls_are_in_the_attempts_journal(
    environment: Environment, runner: LocalRunner, tmp_path: Path
) -> None:
    attempt = Attempt.create(
        tmp_path,
        environment,
        runner,
        profile="tiny",
        solver=Solver(kind="human", name="test"),
        time_budget_s=None,
        facts=attempt_facts(environment.card, "tiny"),
    )
    stage(environment, "tiny", attempt.workspace, seed=Seed.fresh())
    entry = attempt.score(attempt.workspace, lambda: 0.0)
    attempt.close()
    assert entry.outcome is Outcome.SCORED
    rows = Journal(attempt.folder / "broker.jsonl").rows()
    assert sum(row["event"] == "asked" for row in rows) == 3
    assert all(str(row["session"]).startswith("score ") for row in rows if row["event"] == "asked")


def test_the_solver_has_a_broker_for_the_dev_problems(
    environment: Environment, profile: Profile, runner: LocalRunner, tmp_path: Path
) -> None:
    workspace = tmp_path / "workspace"
    stage(environment, "tiny", workspace, seed=Seed.fresh())
    door = open_door(environment, profile, tmp_path, workspace)
    assert door is not None
    with door:
        done = runner.run(
            ["python", "evaluate.py", "2"], workspace=workspace, limits=Limits(call_timeout_s=60)
        )
    said = done.output.decode()
    assert done.returncode == 0 and "of 2 solved" in said, said
    asked = [row for row in Journal(tmp_path / "broker.jsonl").rows() if row["event"] == "asked"]
    assert len(asked) == 2 and asked[0]["session"] == "workspace"


def test_the_workspace_has_no_hidden_statement(environment: Environment, tmp_path: Path) -> None:
    stage(environment, "tiny", tmp_path / "workspace", seed=Seed.fresh())
    text = "".join(p.read_text() for p in (tmp_path / "workspace").rglob("*") if p.is_file())
    for key in (*bank.keys("score"), *bank.keys("final")):
        found, variant = bank.variant_of(key)
        assert found.story[-60:] not in text and variant.task[-40:] not in text


def test_problems_are_renamed_and_reordered_in_every_call(profile: Profile) -> None:
    one, two = (
        sources.problems(profile, "score", Seed(bytes([k] * 32)).rng("problems")) for k in (1, 2)
    )
    assert {p.key for p in one} == {p.key for p in two}
    assert [p.name for p in one] != [p.name for p in two]
    assert {p.description for p in one}.isdisjoint(p.description for p in two)


def test_without_a_compiler_it_is_unavailable(
    environment: Environment, profile: Profile, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(judge.shutil, "which", lambda *_, **__: None)
    judge.compiler_version.cache_clear()
    try:
        assert "apt-get install" in (environment.unavailable(profile) or "")
    finally:
        monkeypatch.undo()
        judge.compiler_version.cache_clear()
    assert environment.unavailable(profile) is None


def test_full_names_what_it_misses(
    environment: Environment, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OPENREBENCH_CODECONTESTS", raising=False)
    reason = environment.unavailable(environment.card.profile("full"))
    assert reason is not None and "OPENREBENCH_CODECONTESTS" in reason


def test_dev_problems_are_the_same_for_everybody(environment: Environment, tmp_path: Path) -> None:
    texts = []
    for name in ("a", "b"):
        stage(environment, "tiny", tmp_path / name, seed=Seed.fresh())
        texts.append((tmp_path / name / "dev.json").read_text())
    assert texts[0] == texts[1]
    first = json.loads(texts[0])[0]
    assert set(first) == {"name", "description", "public_tests", "cpu_limit_s"}
