"""One contract test for each call into Inspect that is not obvious; an upgrade starts here."""

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

    def evaluate(
        action: Any,
        script: list[dict[str, Any]] | None = None,
        model: str = "scripted/x",
        **limits: Any,
    ) -> EvalLog:
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
        arguments = {"script": script or [{"text": "hi"}]} if model == "scripted/x" else {}
        chosen = {"model": model, "model_args": arguments}
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


def test_waiting_is_told_from_working(run: Any) -> None:
    import anyio
    import anyio.to_thread

    async def action(state: TaskState, generate: Generate) -> None:
        SEEN["working"] = compat.is_waiting()
        with suspend_working_limit():
            SEEN["waiting"] = compat.is_waiting()
            SEEN["in a thread"] = await anyio.to_thread.run_sync(compat.is_waiting)
        SEEN["working again"] = compat.is_waiting()

    run(action)
    assert (SEEN["working"], SEEN["working again"]) == (False, False)
    assert (SEEN["waiting"], SEEN["in a thread"]) == (True, True)
    assert compat.is_waiting() is False  # outside of a sample


def test_a_call_in_flight_beside_a_wait_is_work(run: Any, odd: None) -> None:
    import anyio

    async def action(state: TaskState, generate: Generate) -> None:
        async def waiting() -> None:
            with suspend_working_limit():
                await anyio.sleep(0.3)

        async with anyio.create_task_group() as group:
            group.start_soon(waiting)
            await anyio.sleep(0.05)
            SEEN["alone"] = compat.is_waiting()
            group.start_soon(generate, state)
            await anyio.sleep(0.2)
            SEEN["beside a call"] = compat.is_waiting()

    run(action, model="odd/slow")
    assert SEEN["alone"] is True
    assert SEEN["beside a call"] is False


def test_back_off_is_a_wait(run: Any) -> None:
    import anyio
    from inspect_ai.model._retry import _sample_wait_sleep  # what a retried call sleeps with

    async def action(state: TaskState, generate: Generate) -> None:
        async with anyio.create_task_group() as group:
            group.start_soon(_sample_wait_sleep, 0.2)
            await anyio.sleep(0.05)
            SEEN["backing off"] = compat.is_waiting()

    run(action)
    assert SEEN["backing off"] is True


def test_a_price_is_what_calls_cost(run: Any) -> None:
    from inspect_ai.model import ModelCost, get_model

    async def action(state: TaskState, generate: Generate) -> TaskState:
        cost = ModelCost(input=2.0, output=10.0, input_cache_read=0.0, input_cache_write=0.0)
        compat.set_price(get_model(), cost)
        return await generate(state)

    log = run(action)
    (usage,) = (log.stats.model_usage or {}).values()
    assert usage.total_cost == pytest.approx((10 * 2 + 5 * 10) / 1e6)


def test_the_solver_has_a_name(run: Any) -> None:
    async def action(state: TaskState, generate: Generate) -> None:
        SEEN["name"] = compat.solver_name()

    run(action)
    assert SEEN["name"] == "doing"


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
