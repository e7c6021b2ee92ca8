"""What Inspect finds of this package: tasks, sandbox, agents, and a scripted model."""

from openrebench.agents.literal_search import literal_search
from openrebench.agents.modular import modular
from openrebench.agents.react import react
from openrebench.agents.scripted import scripted
from openrebench.agents.scripted_model import scripted_model
from openrebench.agents.swe import claude_code, codex
from openrebench.agents.tree_search import tree_search
from openrebench.harness.scorer import score_log_scorer
from openrebench.harness.tasks import TASKS
from openrebench.harness.tools import score, score_log, time_left
from openrebench.sandbox.provider import OpenREBenchSandbox

__all__ = [
    "TASKS",
    "OpenREBenchSandbox",
    "claude_code",
    "codex",
    "literal_search",
    "modular",
    "react",
    "score",
    "score_log",
    "score_log_scorer",
    "scripted",
    "scripted_model",
    "time_left",
    "tree_search",
]
