"""One contract test for each call into Inspect that is not obvious; an upgrade starts here."""

import time
from pathlib import Path
from typing import Any

import pytest
from inspect_ai import Task, eval
from inspect_ai.dataset import Sample
from inspect_ai.log import EvalLog, read_eval_log
from inspect_ai.scorer import Score, Scorer, Target, mean, scorer
from inspect_ai.solver import Generate, Solver, TaskState, solver
from inspect_ai.util import LimitExceededError, message_limit, suspend_working_limit

from openrebench.agents import scripted_model  # noqa: F401 - registers the model
from openrebench.harness import compat

SEEN: dict[str, Any] = {}


@scorer(metrics=[mean()])
def both_uses() -> Scorer:
    async def score(state: TaskState, target: Target) -> Score:
        SEEN.setdefault("completed", []).append(state.completed)
        SEEN["noted"] = compat.remembered("key")
        return Score(value=1.0, metadata={"hash": f"h{len(SEEN['completed'])}"})

    return score


@solver
def doing(action: Any) -> Solver:
    async def solve(state: TaskState, generate: Generate) -> TaskState:
        return (await action(state, generate)) or state

    return solve


@pytest.fixture
def run(tmp_path: Path) -> Any:
    async def cleanup(state: TaskState) -> None:
        SEEN["ended"] = compat.how_it_ended()
        SEEN["usage"] = compat.model_usage()

    def evaluate(action: Any, script: list[dict[str, Any]] | None = None, **limits: Any) -> EvalLog:
        SEEN.clear()
        task = Task(
            dataset=[Sample(input="x", id="one")],
            solver=doing(action),
            scorer=both_uses(),
            cleanup=cleanup,
            fail_on_error=False,
            score_on_error=True,
            **limits,
        )
        chosen = {"model": "scripted/x", "model_args": {"script": script or [{"text": "hi"}]}}
        (log,) = eval(task, display="none", log_dir=str(tmp_path / "logs"), **chosen)
        return log

    return evaluate


def test_the_scorer_can_tell_its_two_uses(run: Any) -> None:
    async def action(state: TaskState, generate: Generate) -> None:
        SEEN["given"] = await compat.score_through_task()

    log = run(action)
    assert SEEN["completed"] == [False, True]
    assert SEEN["given"].metadata == {"hash": "h1"}
    assert [m["hash"] for m in compat.score_metadata(Path(log.location))] == ["h1"]


def test_what_is_remembered_is_seen_by_scorer_and_log(run: Any, tmp_path: Path) -> None:
    async def action(state: TaskState, generate: Generate) -> None:
        compat.remember("key", "value")

    log = run(action)
    assert SEEN["noted"] == "value"
    target = tmp_path / "part.eval"
    compat.split_log(Path(log.location), "key", {"value": target}.get)
    (sample,) = read_eval_log(str(target)).samples or []
    assert sample.store["key"] == "value"


def test_the_clock_works_in_threads_and_after_the_sample(run: Any) -> None:
    import anyio.to_thread

    async def action(state: TaskState, generate: Generate) -> None:
        clock = SEEN["clock"] = compat.sample_clock()
        with suspend_working_limit():
            await anyio.sleep(0.3)
        before = await anyio.to_thread.run_sync(clock.used_s)
        await anyio.sleep(0.3)
        SEEN["suspended"], SEEN["worked"] = before, clock.used_s() - before
        SEEN["left"] = clock.left_s

    run(action, working_limit=60)
    assert SEEN["suspended"] < 0.1 and 0.29 < SEEN["worked"] < 0.6
    assert 59 < SEEN["left"] < 60
    used = SEEN["clock"].used_s()
    time.sleep(0.1)
    assert SEEN["clock"].used_s() == used and 0.29 < used < 1.0


def test_without_a_limit_no_time_is_left_or_not(run: Any) -> None:
    async def action(state: TaskState, generate: Generate) -> None:
        SEEN["left"] = compat.sample_clock().left_s

    run(action)
    assert SEEN["left"] is None


def test_waiting_for_each_other_is_not_working(run: Any) -> None:
    import anyio

    async def action(state: TaskState, generate: Generate) -> None:
        clock = compat.sample_clock()

        async def one() -> None:
            async with compat.one_at_a_time("test"):
                with suspend_working_limit():
                    await anyio.sleep(0.2)

        async with anyio.create_task_group() as group:
            group.start_soon(one)
            group.start_soon(one)
        SEEN["used"] = clock.used_s()

    run(action)
    assert SEEN["used"] < 0.15


def test_the_solver_has_a_name(run: Any) -> None:
    async def action(state: TaskState, generate: Generate) -> None:
        SEEN["name"] = compat.solver_name()

    run(action)
    assert SEEN["name"] == "doing"


def test_model_usage_is_counted(run: Any) -> None:
    async def action(state: TaskState, generate: Generate) -> TaskState:
        return await generate(state)

    run(action)
    (usage,) = SEEN["usage"].values()
    assert (usage.input_tokens, usage.output_tokens) == (10, 5)


async def sleeping(state: TaskState, generate: Generate) -> None:
    import anyio

    await anyio.sleep(30)


async def failing(state: TaskState, generate: Generate) -> None:
    raise RuntimeError("broken")


async def returning(state: TaskState, generate: Generate) -> None:
    return None


async def talking(state: TaskState, generate: Generate) -> None:
    for _ in range(9):
        await generate(state)


async def limiting_itself(state: TaskState, generate: Generate) -> TaskState:
    try:
        with message_limit(2):
            await generate(state)
            await generate(state)
    except LimitExceededError:
        SEEN["caught"] = True
    return await generate(state)


@pytest.mark.parametrize(
    ("action", "limits", "ended"),
    [
        (returning, {}, "submitted"),
        (failing, {}, "error"),
        (sleeping, {"working_limit": 1}, "budget"),
        (sleeping, {"time_limit": 1}, "budget"),
        (talking, {"token_limit": 40}, "budget"),
        (talking, {"message_limit": 3}, "budget"),
        (talking, {"turn_limit": 2}, "budget"),
        (limiting_itself, {}, "submitted"),
    ],
)
def test_how_a_sample_ended(run: Any, action: Any, limits: dict[str, Any], ended: str) -> None:
    run(action, script=[{"text": "hi"}] * 9, **limits)
    assert SEEN["ended"] == ended
    assert SEEN.get("caught", action is limiting_itself) == (action is limiting_itself)


def test_versions_name_inspect() -> None:
    assert compat.versions()["inspect_ai"] == "0.3.285"
