"""Inspect's `react` with our tools, told now and then what is left of its budget."""

from inspect_ai.agent import Agent, AgentPrompt, AgentState, agent
from inspect_ai.agent import react as inspect_react
from inspect_ai.model import ChatMessageAssistant
from inspect_ai.tool import bash, python

from openrebench.agents.prompts import fill
from openrebench.agents.toolkit import TOOL_TIMEOUT_S
from openrebench.agents.usage import urgency, usage_line, used_fraction
from openrebench.harness import compat
from openrebench.harness.tools import score, score_log, time_left

REMINDERS = 10  # over the whole budget
FRUITLESS = 10  # answers without a tool call, one after the other, after which it stops
REMINDED = "openrebench:reminded"
ASSISTANT_PROMPT = "Before each tool call, say briefly what you want to find out or change."
SUBMIT_PROMPT = "When you can't improve the score any further, call {submit}() with a summary."


@agent
def react() -> Agent:
    """Inspect's `react` with a shell, Python, and the three tools of every solver."""
    return inspect_react(
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
        on_continue=_go_on,
    )


async def _go_on(state: AgentState) -> bool | str:
    """Say what is left once in a tenth of the budget, ask for a call, or give up."""
    words = [fill("no_call")] if _fruitless(state) else []
    if _fruitless(state) >= FRUITLESS:
        return False
    reached = str(int(used_fraction() * REMINDERS))
    if reached not in ("0", compat.remembered(REMINDED)):
        compat.remember(REMINDED, reached)
        words.append(f"[{usage_line()}{urgency()}]")
    return "\n\n".join(words) or True


def _fruitless(state: AgentState) -> int:
    """Count the model's last answers that called no tool."""
    count = 0
    for message in reversed(state.messages):
        if isinstance(message, ChatMessageAssistant):
            if message.tool_calls:
                break
            count += 1
    return count
