"""Every call into Inspect that is not obvious or not public, in one place.

Each function has a contract test in tests/harness/test_compat.py, so that an upgrade that breaks
one says which.
"""

import re
from collections.abc import Callable, Mapping
from contextlib import AbstractAsyncContextManager
from contextvars import copy_context
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

from inspect_ai._eval.loader import solver_from_spec
from inspect_ai._util.error import PrerequisiteError
from inspect_ai.agent import AgentState
from inspect_ai.event import ErrorEvent, ModelEvent, SampleLimitEvent, ScoreEvent
from inspect_ai.log import (
    EvalLog,
    read_eval_log,
    read_eval_log_sample,
    read_eval_log_sample_summaries,
    transcript,
    write_eval_log,
)
from inspect_ai.log._samples import sample_active
from inspect_ai.model import Model, ModelUsage, get_model
from inspect_ai.model._model import sample_model_usage
from inspect_ai.scorer import Score
from inspect_ai.scorer import score as inspect_score
from inspect_ai.solver import SolverSpec
from inspect_ai.util import concurrency, sample_limits, store

from openrebench.core.attempt import Ended
from openrebench.errors import ReBenchError

CANCELLED = "CancelledError"


class Clock(NamedTuple):
    """The working clock of a running sample, readable from any task or thread."""

    used_s: Callable[[], float]
    limit_s: Callable[[], float | None]

    @property
    def left_s(self) -> float | None:
        """Working seconds left, or None without a limit."""
        limit_s = self.limit_s()
        return None if limit_s is None else max(0.0, limit_s - self.used_s())


def sample_clock() -> Clock:
    """Give the clock of the sample that this runs in.

    Inspect finds the sample through context variables. They are kept here, so that the clock
    also works where they are not: in threads, in the scorer, after the sample.
    """
    working = copy_context().run(sample_limits).working
    return Clock(lambda: float(working.usage), lambda: working.limit)


def versions() -> dict[str, str]:
    """Versions of what runs the agent."""
    return {"inspect_ai": version("inspect_ai")}


def make_model(name: str, arguments: Mapping[str, Any]) -> Model:
    """Make a model.

    Raises:
        ReBenchError: Inspect does not know it, or it lacks a key or a package.
    """
    try:
        return get_model(name, memoize=False, **arguments)
    except (PrerequisiteError, ValueError, TypeError) as error:
        raise ReBenchError(f"model '{name}' can't be used: {_first_sentence(error)}") from error


def make_solver(name: str, arguments: Mapping[str, Any]) -> SolverSpec:
    """Name a solver or agent for Inspect, once it is known that it can be made.

    Raises:
        ReBenchError: Inspect does not know it, or it does not take these arguments.
    """
    spec = SolverSpec(name, dict(arguments), dict(arguments))
    try:
        solver_from_spec(spec)
    except (PrerequisiteError, LookupError, ValueError, TypeError) as error:
        raise ReBenchError(f"agent '{name}' can't be used: {_first_sentence(error)}") from error
    return spec


def _first_sentence(error: Exception) -> str:
    """Give an error's text as one line without Inspect's colour marks."""
    text = re.sub(r"\[/?[a-z ]+\]", "", str(error)).removeprefix("ERROR: ")
    return " ".join(text.split())


def solver_name() -> str:
    """Name of the solver or agent that the running sample will run, empty if unknown."""
    active = sample_active()
    return (active.agent_name if active else None) or ""


def model_usage() -> Mapping[str, ModelUsage]:
    """What the running sample has used of each model so far."""
    return sample_model_usage()


def how_it_ended() -> Ended:
    """Say how the running sample's solver ended; for use once it has.

    Read from the transcript: nothing else that a task's cleanup can see tells a limit from an
    agent that stopped. A limit before the last model call was one that the agent set itself.
    """
    for event in reversed(transcript().events):
        if isinstance(event, ErrorEvent):
            cancelled = CANCELLED in event.error.message or CANCELLED in event.error.traceback
            return "interrupted" if cancelled else "error"
        if isinstance(event, SampleLimitEvent):
            return "interrupted" if event.type == "operator" else "budget"
        if isinstance(event, ModelEvent):
            break
    return "submitted"


async def score_through_task() -> Score:
    """Run the task's scorer now; it can see that the sample is not completed."""
    return (await inspect_score(AgentState(messages=[])))[0]


def one_at_a_time(name: str) -> AbstractAsyncContextManager[object]:
    """Hold a lock of this process; Inspect does not charge the wait for it as working time."""
    return concurrency(name, 1, visible=False)


def remember(key: str, value: str) -> None:
    """Note a value that the sample's log will hold."""
    store().set(key, value)


def remembered(key: str) -> str | None:
    """Read a noted value of the running sample."""
    value = store().get(key)
    return value if isinstance(value, str) else None


def split_log(path: Path, key: str, target: Callable[[str], Path | None]) -> None:
    """Write every sample of a log as a log of its own.

    Args:
        path: An Inspect log.
        key: Under which the sample noted a value.
        target: Gives the file for a noted value, or None to leave the sample out.
    """
    header: EvalLog = read_eval_log(str(path), header_only=True)
    for summary in read_eval_log_sample_summaries(str(path)):
        sample = read_eval_log_sample(str(path), id=summary.id, epoch=summary.epoch)
        noted: Any = sample.store.get(key)
        place = target(noted) if isinstance(noted, str) else None
        if place is not None:
            write_eval_log(header.model_copy(update={"samples": [sample]}), str(place))


def score_metadata(path: Path) -> list[Mapping[str, Any]]:
    """Read what every score call left in a log, oldest first."""
    log = read_eval_log(str(path))
    events = [event for sample in log.samples or [] for event in sample.events]
    return [e.score.metadata or {} for e in events if isinstance(e, ScoreEvent) and e.intermediate]
