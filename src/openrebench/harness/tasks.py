"""One Inspect task for each environment in the catalogue, made in a loop.

Example: inspect eval openrebench/prefix_sum --model openai/gpt-5 -T budget=30m -T profile=small
"""

import logging
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from string import Template
from typing import Any

from inspect_ai import Task, task
from inspect_ai.agent import Agent
from inspect_ai.dataset import Sample
from inspect_ai.model import Model
from inspect_ai.solver import Solver
from inspect_ai.util import SandboxEnvironmentSpec

from openrebench.agents.react import react
from openrebench.agents.toolkit import TOOL_TIMEOUT_S
from openrebench.core.card import TaskCard
from openrebench.core.catalog import environment_folders, load_environment
from openrebench.core.duration import format_duration
from openrebench.core.workspace import instructions
from openrebench.errors import CardError
from openrebench.harness.budget import Budget, task_limits
from openrebench.harness.lifecycle import Terms, begin_attempt, end_attempt
from openrebench.harness.scorer import score_log_scorer
from openrebench.sandbox.config import sandbox_config
from openrebench.sandbox.provider import SANDBOX

log = logging.getLogger(__name__)

ATTEMPTS_VARIABLE = "OPENREBENCH_ATTEMPTS"
COUNTS = {"best": "The best valid score", "last": "The last valid score"}
STANDS_STILL = "Work in the background stands still while a score is taken."
GOES_ON = "Work in the background goes on while a score is taken."
SCORING_COUNTS = "Your own thinking, your commands and scoring count"
SCORING_FREE = "Your own thinking and your commands count, scoring does not"
RESUMED = """
You have worked at this before and were interrupted: {used} of your time are used. The files are as
you left them, what ran in the background has ended, and nothing is left of what you said and
thought. Look at the files and at `score_log` first.
"""
BRIEFING = Path(__file__).with_name("briefing.md")


def attempts_root(given: str | None) -> Path:
    """Folder of attempts: the one given, else `$OPENREBENCH_ATTEMPTS`, else `./attempts`."""
    return Path(given or os.environ.get(ATTEMPTS_VARIABLE) or "attempts").resolve()


def briefing(terms: Terms) -> str:
    """Give the text that a solver starts from: the instructions, the sandbox, the budget."""
    card, used_s = terms.environment.card, terms.earlier.working_s
    stands_still = card.score.is_time or not terms.charge_scoring
    resumed = RESUMED.format(used=format_duration(round(used_s))) if used_s else ""
    text = Template(BRIEFING.read_text(encoding="utf-8")).substitute(
        instructions=instructions(terms.environment, terms.profile),
        budget=terms.budget,
        tool_timeout=format_duration(TOOL_TIMEOUT_S),
        background=STANDS_STILL if stands_still else GOES_ON,
        scoring=SCORING_COUNTS if terms.charge_scoring else SCORING_FREE,
        disk=f"{terms.fuses.max_disk_bytes / 1e9:.3g} GB",
        counts=COUNTS[card.score.counts],
        resumed=resumed,
    )
    return text.rstrip() + "\n"


def environment_task(
    terms: Terms,
    *,
    epochs: int = 1,
    solver: Solver | Agent | None = None,
    model: Model | None = None,
    limits: Mapping[str, float] | None = None,
) -> Task:
    """Build the task for an environment.

    Args:
        terms: Environment, profile, budget and the rest that all attempts share.
        epochs: How many attempts.
        solver: Who attempts; `react` if None.
        model: What it uses; Inspect's choice if None.
        limits: Further limits by Inspect's names, such as `message_limit`.
    """
    card = terms.environment.card
    sample = Sample(
        id=card.id,
        input=briefing(terms),
        metadata={"environment": card.label(terms.profile)},
    )
    arguments: dict[str, Any] = {
        "name": card.id,
        "dataset": [sample],
        "setup": begin_attempt(terms),
        "solver": solver or react(),
        "model": model,
        "scorer": score_log_scorer(),
        "cleanup": end_attempt(),
        "sandbox": SandboxEnvironmentSpec(SANDBOX, sandbox_config(card, terms.profile)),
        "epochs": epochs,
        **task_limits(terms.budget, terms.fuses, terms.earlier.used()),
        "fail_on_error": False,
        "score_on_error": True,
        "version": card.version,
        "metadata": {"profile": terms.profile, "budget_s": terms.budget.seconds},
        **(limits or {}),
    }
    return Task(**arguments)


def _register(card: TaskCard) -> Callable[..., Task]:
    """Register one environment's task under its id."""

    @task(name=card.id)
    def environment(
        profile: str = "small",
        budget: str = "30m",
        epochs: int = 1,
        attempts: str | None = None,
        charge_scoring: bool = True,
    ) -> Task:
        terms = Terms(
            environment=load_environment(card.id),
            profile=profile,
            budget=Budget.parse(budget),
            root=attempts_root(attempts),
            charge_scoring=charge_scoring,
        )
        return environment_task(terms, epochs=epochs)

    return environment


def register_all() -> dict[str, Callable[..., Task]]:
    """Register the tasks of all environments that can be found; gives them by id."""
    tasks = {}
    for folder in environment_folders():
        try:
            card = TaskCard.load(folder)
        except CardError as error:
            log.warning("no task for %s: %s", folder.name, error)
            continue
        tasks[card.id] = _register(card)
    return tasks


TASKS = register_all()
