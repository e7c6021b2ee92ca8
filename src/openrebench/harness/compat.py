"""Every call into Inspect that is not obvious or not public, in one place.

Each function has a contract test in tests/harness/test_compat.py, so that an upgrade that breaks
one says which.
"""

import re
from collections.abc import Callable, Mapping
from contextlib import AbstractAsyncContextManager
from importlib.metadata import version
from pathlib import Path
from typing import Any

from inspect_ai._eval.loader import solver_from_spec
from inspect_ai._util.error import PrerequisiteError
from inspect_ai._util.working import sample_timing
from inspect_ai.agent import AgentState
from inspect_ai.event import ErrorEvent, InfoEvent, ModelEvent, SampleLimitEvent, ScoreEvent
from inspect_ai.log import (
    EvalLog,
    EvalSample,
    read_eval_log,
    read_eval_log_sample,
    read_eval_log_sample_summaries,
    transcript,
    write_eval_log,
)
from inspect_ai.log._recover import RecoveryNotAvailable, recover_eval_log
from inspect_ai.log._samples import sample_active
from inspect_ai.model import (
    Model,
    ModelCost,
    ModelInfo,
    ModelUsage,
    get_model,
    get_model_info,
    set_model_info,
)
from inspect_ai.model._model import sample_model_usage
from inspect_ai.scorer import Score
from inspect_ai.scorer import score as inspect_score
from inspect_ai.solver import Solver, SolverSpec
from inspect_ai.util import concurrency, store

from openrebench.core.attempt import Ended
from openrebench.errors import ReBenchError
from openrebench.harness import interrupts

CANCELLED = "CancelledError"


def is_waiting() -> bool:
    """Tell whether the running sample only waits, so that Inspect counts no working time now.

    It does while a provider backs off, and in queues for connections.
    """
    timing = sample_timing()
    if timing is None or timing.open_waits == 0:
        return False
    return all(span._active_start is None for span in timing._spans)


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


def make_solver(name: str, arguments: Mapping[str, Any]) -> Solver:
    """Make a solver or agent that Inspect knows by name.

    Raises:
        ReBenchError: Inspect does not know it, or it does not take these arguments.
    """
    try:
        return solver_from_spec(SolverSpec(name, dict(arguments), dict(arguments)))
    except (PrerequisiteError, LookupError, ValueError, TypeError) as error:
        shown = name.removeprefix("openrebench/")
        raise ReBenchError(f"agent '{shown}' can't be used: {_first_sentence(error)}") from error


def set_price(model: Model, price: ModelCost) -> None:
    """Let Inspect price a model's calls, also of a model that it does not know."""
    info = get_model_info(model) or ModelInfo()
    set_model_info(str(model), info.model_copy(update={"cost": price}))


def _first_sentence(error: Exception) -> str:
    """Give an error's text as one line without Inspect's colour marks."""
    text = re.sub(r"\[/?[a-z ]+\]", "", str(error)).removeprefix("ERROR: ")
    return " ".join(text.split())


def solver_name() -> str:
    """Name of the solver or agent that the running sample will run, empty if unknown."""
    active = sample_active()
    return (active.agent_name if active else None) or ""


def model_usage() -> Mapping[str, ModelUsage]:
    """Give what the running sample uses of each model; it goes on to be counted in there.

    The call that a limit ended is in it, and in nothing that hooks are told.
    """
    return sample_model_usage()


def how_it_ended() -> Ended:
    """Say how the running sample's solver ended; for use once it has.

    Read from the transcript: nothing else that a task's cleanup can see tells a limit from an
    agent that stopped. A limit before the last model call was one that the agent set itself.
    """
    for event in reversed(transcript().events):
        if isinstance(event, ErrorEvent):
            cancelled = CANCELLED in event.error.message or CANCELLED in event.error.traceback
            return "interrupted" if cancelled or interrupts.noted() else "error"
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
    """Note a value that the sample's log will hold.

    As an event too: a log that is recovered after a crash has the events, and not the store.
    """
    store().set(key, value)
    transcript().info({key: value})


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
        noted = _noted(sample, key)
        place = target(noted) if noted is not None else None
        if place is not None:
            write_eval_log(header.model_copy(update={"samples": [sample]}), str(place))


def _noted(sample: EvalSample, key: str) -> str | None:
    told = [e.data for e in sample.events if isinstance(e, InfoEvent)]
    values = [sample.store.get(key), *(d.get(key) for d in told if isinstance(d, dict))]
    return next((value for value in values if isinstance(value, str)), None)


def recovered_log(path: Path) -> Path:
    """Give the log of a process that was killed, with what it had only buffered; else itself."""
    try:
        recover_eval_log(str(path), overwrite=True)
    except (RecoveryNotAvailable, OSError, ValueError):
        pass  # nothing was buffered, or the log is whole
    return path


def score_metadata(path: Path) -> list[Mapping[str, Any]]:
    """Read what every score call left in a log, oldest first."""
    log = read_eval_log(str(path))
    events = [event for sample in log.samples or [] for event in sample.events]
    return [e.score.metadata or {} for e in events if isinstance(e, ScoreEvent) and e.intermediate]
