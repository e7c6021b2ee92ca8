"""The first and the last step of every sample: an attempt begins and, whatever happens, ends."""

import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path

import anyio
import anyio.to_thread
from inspect_ai.model import ModelUsage
from inspect_ai.solver import Generate, Solver, TaskState, solver
from inspect_ai.util import sandbox, suspend_working_limit
from pydantic import JsonValue

from openrebench.core.attempt import Attempt, Usage
from openrebench.core.attempt import Solver as SolverFacts
from openrebench.core.environment import Environment
from openrebench.core.reading import attempt_facts
from openrebench.core.versions import installed_versions
from openrebench.errors import RunnerUnavailable
from openrebench.harness import compat, live
from openrebench.harness.budget import Budget
from openrebench.harness.live import LiveAttempt
from openrebench.isolation.local import LocalRunner
from openrebench.sandbox.provider import OpenREBenchSandbox

NOT_OURS = (
    "tasks of openrebench run only in its own sandbox, which hides the host from the agent; "
    "leave out --sandbox"
)


@dataclass(frozen=True, kw_only=True)
class Terms:
    """What is the same for all attempts of a task."""

    environment: Environment
    profile: str
    budget: Budget
    root: Path
    charge_scoring: bool = True
    settings: dict[str, JsonValue] = field(default_factory=dict)


@solver
def begin_attempt(terms: Terms) -> Solver:
    """Give the task's setup: it opens the attempt and scores the start, on nobody's time."""

    async def solve(state: TaskState, generate: Generate) -> TaskState:
        with suspend_working_limit():
            opened = await anyio.to_thread.run_sync(_open, terms, _our_sandbox(), state)
            live.add(opened)
            await anyio.to_thread.run_sync(opened.begin)
        return state

    return solve


def _our_sandbox() -> OpenREBenchSandbox:
    try:
        return sandbox().as_type(OpenREBenchSandbox)
    except TypeError as error:
        raise RunnerUnavailable(NOT_OURS) from error


def _open(terms: Terms, box: OpenREBenchSandbox, state: TaskState) -> LiveAttempt:
    """Make the attempt's folder. Runs in a thread, with the sample's context."""
    facts = attempt_facts(terms.environment.card, terms.profile)
    runner = LocalRunner()
    try:
        attempt = Attempt.create(
            terms.root,
            terms.environment,
            runner,
            profile=terms.profile,
            solver=SolverFacts(
                kind="agent",
                name=compat.solver_name(),
                model=str(state.model),
                settings=terms.settings,
            ),
            time_budget_s=terms.budget.seconds,
            facts={
                **facts,
                "limits": {**facts["limits"], "charge_scoring": terms.charge_scoring},
                "versions": {**installed_versions(), **compat.versions()},
            },
        )
    except BaseException:
        runner.close()
        raise
    return LiveAttempt(
        attempt=attempt,
        runner=runner,
        box=box,
        clock=compat.sample_clock(),
        number=state.epoch,
        charge_scoring=terms.charge_scoring,
    )


def end_attempt() -> Callable[[TaskState], Awaitable[None]]:
    """Give the task's cleanup, which Inspect calls however a sample ended."""

    async def cleanup(state: TaskState) -> None:
        attempt = live.remove_current()
        if attempt is None:
            return
        usage, ended = _usage(attempt), compat.how_it_ended()
        await anyio.to_thread.run_sync(attempt.end, ended, usage)

    return cleanup


def _usage(attempt: LiveAttempt) -> Usage:
    by_model = compat.model_usage().values()
    return Usage(
        input_tokens=sum(_input_tokens(usage) for usage in by_model),
        output_tokens=sum(usage.output_tokens for usage in by_model),
        cost_usd=_cost([usage.total_cost for usage in by_model]),
        working_s=attempt.clock.used_s(),
        wall_s=time.monotonic() - attempt.began,
    )


def _input_tokens(usage: ModelUsage) -> int:
    """All tokens read, also those that a cache made cheaper."""
    cached = (usage.input_tokens_cache_read or 0) + (usage.input_tokens_cache_write or 0)
    return usage.input_tokens + cached


def _cost(costs: list[float | None]) -> float | None:
    """Sum of all costs; unknown if one is."""
    known = [cost for cost in costs if cost is not None]
    return sum(known) if len(known) == len(costs) else None
