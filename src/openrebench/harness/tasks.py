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
from inspect_ai.agent import Agent, AgentPrompt, react
from inspect_ai.dataset import Sample
from inspect_ai.tool import bash, python
from inspect_ai.util import SandboxEnvironmentSpec

from openrebench.core.card import TaskCard
from openrebench.core.catalog import environment_folders, load_environment
from openrebench.core.duration import format_duration
from openrebench.core.environment import Environment
from openrebench.core.workspace import instructions
from openrebench.errors import CardError
from openrebench.harness.budget import Budget
from openrebench.harness.lifecycle import Terms, begin_attempt, end_attempt
from openrebench.harness.scorer import score_log_scorer
from openrebench.harness.tools import score, score_log, time_left
from openrebench.sandbox.provider import SANDBOX, SandboxConfig

log = logging.getLogger(__name__)

ATTEMPTS_VARIABLE = "OPENREBENCH_ATTEMPTS"
TOOL_TIMEOUT_S = 20 * 60
AGENT_PROCESSES = 512
COUNTS = {"best": "The best valid score", "last": "The last valid score"}
ASSISTANT_PROMPT = "Before each tool call, say briefly what you want to find out or change."
SUBMIT_PROMPT = "When you can't improve the score any further, call {submit}() with a summary."
BRIEFING = Path(__file__).with_name("briefing.md")


def attempts_root(given: str | None) -> Path:
    """Folder of attempts: the one given, else `$OPENREBENCH_ATTEMPTS`, else `./attempts`."""
    return Path(given or os.environ.get(ATTEMPTS_VARIABLE) or "attempts").resolve()


def briefing(environment: Environment, profile: str, budget: Budget) -> str:
    """Give the text that a solver starts from: the instructions, the sandbox, the budget."""
    return Template(BRIEFING.read_text(encoding="utf-8")).substitute(
        instructions=instructions(environment, profile),
        budget=budget,
        tool_timeout=format_duration(TOOL_TIMEOUT_S),
        counts=COUNTS[environment.card.score.counts],
    )


def environment_task(
    terms: Terms, *, epochs: int = 1, limits: Mapping[str, float] | None = None
) -> Task:
    """Build the task for an environment.

    Args:
        terms: Environment, profile, budget and the rest that all attempts share.
        epochs: How many attempts.
        limits: Further limits by Inspect's names, such as `token_limit`.
    """
    card = terms.environment.card
    sample = Sample(
        id=card.id,
        input=briefing(terms.environment, terms.profile, terms.budget),
        metadata={"environment": card.label(terms.profile)},
    )
    arguments: dict[str, Any] = {
        "dataset": [sample],
        "setup": begin_attempt(terms),
        "solver": default_agent(),
        "scorer": score_log_scorer(),
        "cleanup": end_attempt(),
        "sandbox": SandboxEnvironmentSpec(SANDBOX, sandbox_config(card, terms.profile)),
        "epochs": epochs,
        "working_limit": terms.budget.working_limit,
        "time_limit": terms.budget.time_limit,
        "fail_on_error": False,
        "score_on_error": True,
        "version": card.version,
        "metadata": {"profile": terms.profile, "budget_s": terms.budget.seconds},
        **(limits or {}),
    }
    return Task(**arguments)


def default_agent() -> Agent:
    """Inspect's `react` with a shell, Python and our three tools."""
    return react(
        prompt=AgentPrompt(
            handoff_prompt=None, assistant_prompt=ASSISTANT_PROMPT, submit_prompt=SUBMIT_PROMPT
        ),
        tools=[
            bash(timeout=TOOL_TIMEOUT_S),
            python(timeout=TOOL_TIMEOUT_S),
            score(),
            score_log(),
            time_left(),
        ],
        truncation="auto",
    )


def sandbox_config(card: TaskCard, profile: str) -> SandboxConfig:
    """Give the agent twice the memory of a score call: it must be able to try one, and live."""
    chosen = card.profile(profile)
    return SandboxConfig(
        device=chosen.device,
        memory_bytes=2 * chosen.limits.memory_bytes,
        processes=max(AGENT_PROCESSES, 4 * chosen.limits.processes),
    )


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
