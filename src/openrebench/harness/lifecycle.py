"""The first and the last step of every sample: an attempt begins and, whatever happens, ends."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path

import anyio
import anyio.to_thread
from inspect_ai.solver import Generate, Solver, TaskState, solver
from inspect_ai.util import background, sandbox, suspend_working_limit
from pydantic import JsonValue

from openrebench.core.attempt import Attempt
from openrebench.core.attempt import Solver as SolverFacts
from openrebench.core.environment import Environment
from openrebench.core.reading import attempt_facts
from openrebench.core.versions import installed_versions
from openrebench.errors import RunnerUnavailable
from openrebench.harness import compat, interrupts, live
from openrebench.harness.accounts import Accounts
from openrebench.harness.budget import Budget, Fuses
from openrebench.harness.clock import WorkingClock
from openrebench.harness.disk import DiskWatch
from openrebench.harness.guard import guard
from openrebench.harness.live import LiveAttempt
from openrebench.isolation.device import device_fingerprint
from openrebench.isolation.local import LocalRunner
from openrebench.sandbox.provider import OpenREBenchSandbox

NOT_OURS = (
    "tasks of openrebench run only in its own sandbox, which hides the host from the agent; "
    "leave out --sandbox"
)


@dataclass(frozen=True, kw_only=True)
class Session:
    """Which attempt of a plan a task is for, and what came of it before.

    Args:
        plan: Id of the plan; `place` is the attempt's number in it.
        number: Which of the attempts with the same environment, agent and model; from 1.
        folder: The attempt's folder, if it is resumed.
        earlier: What it used before.
    """

    plan: str
    place: int
    number: int
    folder: Path | None = None
    earlier: Accounts = field(default_factory=Accounts)


@dataclass(frozen=True, kw_only=True)
class Terms:
    """What is the same for all attempts of a task."""

    environment: Environment
    profile: str
    budget: Budget
    root: Path
    charge_scoring: bool = True
    fuses: Fuses = field(default_factory=Fuses)
    settings: dict[str, JsonValue] = field(default_factory=dict)
    session: Session | None = None

    @property
    def earlier(self) -> Accounts:
        """What the attempt used before; nothing for a new one."""
        return self.session.earlier if self.session else Accounts()


@solver
def begin_attempt(terms: Terms) -> Solver:
    """Give the task's setup: it opens the attempt and scores the start, on nobody's time."""

    async def solve(state: TaskState, generate: Generate) -> TaskState:
        from openrebench.harness import hooks  # noqa: F401 - registers them

        interrupts.note()
        with suspend_working_limit():
            opened = await anyio.to_thread.run_sync(_open, terms, _our_sandbox(), state)
            live.add(opened)
            await anyio.to_thread.run_sync(opened.begin)
        opened.go()
        workspace = opened.attempt.workspace
        background(guard, opened, DiskWatch(workspace, terms.fuses.max_disk_bytes))
        return state

    return solve


def _our_sandbox() -> OpenREBenchSandbox:
    try:
        return sandbox().as_type(OpenREBenchSandbox)
    except TypeError as error:
        raise RunnerUnavailable(NOT_OURS) from error


def _open(terms: Terms, box: OpenREBenchSandbox, state: TaskState) -> LiveAttempt:
    """Make or take up the attempt's folder. Runs in a thread, with the sample's context."""
    runner = LocalRunner()
    session, earlier = terms.session, terms.earlier
    try:
        if session is not None and session.folder is not None:
            attempt = Attempt(session.folder, terms.environment, runner)
            attempt.resume(earlier.working_s)
        else:
            attempt = _create(terms, runner, str(state.model))
    except BaseException:
        runner.close()
        raise
    return LiveAttempt(
        attempt=attempt,
        runner=runner,
        box=box,
        clock=WorkingClock(terms.budget.seconds, earlier.working_s),
        number=session.number if session else state.epoch,
        charge_scoring=terms.charge_scoring,
        earlier=earlier,
        usage=compat.model_usage(),
        wall_limit_s=terms.fuses.wall_s(terms.budget),
        gpus=_gpus(terms),
    )


def _create(terms: Terms, runner: LocalRunner, model: str) -> Attempt:
    facts, session = attempt_facts(terms.environment.card, terms.profile), terms.session
    limits = {**facts["limits"], **terms.fuses.model_dump(exclude_none=True)}
    solver = SolverFacts(
        kind="agent", name=compat.solver_name(), model=model, settings=terms.settings
    )
    return Attempt.create(
        terms.root,
        terms.environment,
        runner,
        profile=terms.profile,
        solver=solver,
        time_budget_s=terms.budget.seconds,
        facts={
            **facts,
            "limits": {**limits, "charge_scoring": terms.charge_scoring},
            "versions": {**installed_versions(), **compat.versions()},
            "plan": session.plan if session else "",
            "place": session.place if session else None,
        },
    )


def _gpus(terms: Terms) -> int | None:
    """Count the GPUs that an attempt holds; None if they should be there and are not seen."""
    if terms.environment.card.profile(terms.profile).device == "cpu":
        return 0
    return device_fingerprint("cuda").gpus or None


def end_attempt() -> Callable[[TaskState], Awaitable[None]]:
    """Give the task's cleanup, which Inspect calls however a sample ended."""

    async def cleanup(state: TaskState) -> None:
        attempt = live.remove_current()
        if attempt is not None:
            ended = "budget" if attempt.over else compat.how_it_ended()
            await anyio.to_thread.run_sync(attempt.end, ended)

    return cleanup
