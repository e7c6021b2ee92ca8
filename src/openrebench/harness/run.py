"""Run attempts of an agent: what `re-bench run` does."""

import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from inspect_ai import Task
from inspect_ai import eval as inspect_eval
from inspect_ai.solver import SolverSpec
from pydantic import JsonValue

from openrebench.agents import literal_search, scripted, scripted_model
from openrebench.core.catalog import load_environment
from openrebench.core.environment import Environment
from openrebench.errors import ReBenchError
from openrebench.harness import compat, live
from openrebench.harness.budget import Budget
from openrebench.harness.lifecycle import Terms
from openrebench.harness.progress import shown_progress
from openrebench.harness.tasks import environment_task
from openrebench.harness.transcripts import keep_transcripts

PACKAGE = "openrebench"
DEFAULT_AGENT = "react"
OWN_AGENTS = ("literal_search", "scripted")
REGISTERED = (literal_search, scripted, scripted_model)  # Inspect finds what was imported
SEEDED = ("literal_search",)


def run_attempts(  # noqa: PLR0913 - one argument for each option of `re-bench run`
    card_names: Sequence[str],
    *,
    agent: str,
    model: str = "none/none",
    profile: str = "small",
    time_limit_s: float,
    attempts: int = 1,
    root: Path = Path("attempts"),
    seed: int = 0,
    parallel: int = 1,
    agent_args: Mapping[str, JsonValue] | None = None,
    model_args: Mapping[str, JsonValue] | None = None,
    limits: Mapping[str, float] | None = None,
) -> list[Path]:
    """Let an agent attempt environments; gives the attempts' folders, oldest first.

    Args:
        card_names: Ids or aliases of environments.
        agent: `literal_search`, `scripted`, `react`, or any agent or solver that Inspect knows
            by name.
        model: Any Inspect model string; agents without a model need none.
        profile: Size to attempt.
        time_limit_s: Working seconds of each attempt.
        attempts: Attempts at each environment.
        root: Folder of attempts.
        seed: Seed of agents that draw at random.
        parallel: Attempts at a time. More than one share this machine's cores and disturb each
            other's timings.
        agent_args: Further arguments of the agent.
        model_args: Arguments of the model.
        limits: Further limits by Inspect's names, such as `token_limit` or `cost_limit`.

    Raises:
        KeyboardInterrupt: It was interrupted; the attempts have ended and kept their scores.
        ReBenchError: An environment can't run here.
    """
    arguments = {**(agent_args or {}), **({"seed": seed} if agent in SEEDED else {})}
    tasks = [
        environment_task(terms, epochs=attempts, limits=limits)
        for terms in _terms(card_names, profile, Budget(time_limit_s), root.resolve(), arguments)
    ]
    options = {
        "model": compat.make_model(model, model_args or {}),
        "solver": _solver(agent, arguments),
        "max_samples": parallel,
        "max_tasks": 1,
        "display": "none",
    }
    return _evaluate(tasks, root.resolve(), options)


def _terms(
    card_names: Sequence[str],
    profile: str,
    budget: Budget,
    root: Path,
    settings: dict[str, JsonValue],
) -> list[Terms]:
    environments = [load_environment(name) for name in card_names]
    for environment in environments:
        _check_available(environment, profile)
    return [
        Terms(environment=environment, profile=profile, budget=budget, root=root, settings=settings)
        for environment in environments
    ]


def _check_available(environment: Environment, profile: str) -> None:
    reason = environment.unavailable(environment.card.profile(profile))
    if reason is not None:
        raise ReBenchError(f"{environment.card.label(profile)} can't run here: {reason}")


def _solver(agent: str, arguments: Mapping[str, JsonValue]) -> SolverSpec | None:
    """Name the solver for Inspect; None stands for the task's own, `react`."""
    if agent == DEFAULT_AGENT:
        return None
    name = f"{PACKAGE}/{agent}" if agent in OWN_AGENTS else agent
    return compat.make_solver(name, arguments)


def _evaluate(tasks: list[Task], root: Path, options: Mapping[str, Any]) -> list[Path]:
    """Run tasks and keep their transcripts with the attempts, also when interrupted."""
    begun = len(live.folders())
    root.mkdir(parents=True, exist_ok=True)
    logs = Path(tempfile.mkdtemp(prefix=".transcripts-", dir=root))
    try:
        with shown_progress():
            done = inspect_eval(tasks, log_dir=str(logs), **options)
    finally:
        keep_transcripts(logs, live.folders()[begun:])
    if len(done) < len(tasks) or any(log.status == "cancelled" for log in done):
        raise KeyboardInterrupt
    return live.folders()[begun:]
