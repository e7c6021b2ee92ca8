"""The tools of our agents: a shell and Python whose time-out the model sets, scores, the end."""

from dataclasses import dataclass

from inspect_ai.model import ChatMessage, ChatMessageTool
from inspect_ai.tool import Tool, ToolError, tool
from inspect_ai.tool import bash as inspect_bash
from inspect_ai.tool import python as inspect_python

from openrebench.core.duration import format_duration
from openrebench.harness.tools import score, score_log, time_left

TOOL_TIMEOUT_S = 20 * 60
SUBMIT = "submit"


@dataclass
class Timeout:
    """How long a `bash` or `python` call may take, in seconds."""

    seconds: int = 2 * 60


def all_tools(timeout: Timeout) -> list[Tool]:
    """Give the tools of an agent whose calls of `bash` and `python` share a time-out."""
    return [
        bash(timeout),
        python(timeout),
        set_timeout(timeout),
        score(),
        score_log(),
        time_left(),
        submit(),
    ]


@tool
def bash(timeout: Timeout) -> Tool:
    """Give Inspect's shell with a time-out that can change between calls."""

    async def execute(command: str) -> str:
        """Run a shell command in the workspace; every call is a new shell.

        Args:
            command: The command.
        """
        return str(await inspect_bash(timeout=timeout.seconds)(command))

    return execute


@tool
def python(timeout: Timeout) -> Tool:
    """Give Inspect's Python with a time-out that can change between calls."""

    async def execute(code: str) -> str:
        """Run Python code in the workspace and see what it prints; every call is a new process.

        Args:
            code: The code.
        """
        return str(await inspect_python(timeout=timeout.seconds)(code))

    return execute


@tool(name="timeout")
def set_timeout(timeout: Timeout) -> Tool:
    """Give the tool that sets the time-out."""

    async def execute(seconds: int) -> str:
        """Set how long each further call of `bash` and `python` may take.

        Args:
            seconds: From 1 to 1200.
        """
        if not 1 <= seconds <= TOOL_TIMEOUT_S:
            raise ToolError(f"the time-out must be from 1 to {TOOL_TIMEOUT_S} seconds")
        timeout.seconds = seconds
        return f"calls of bash and python may now take {format_duration(seconds)}"

    return execute


@tool
def submit() -> Tool:
    """Give the tool that ends the attempt."""

    async def execute(answer: str = "") -> str:
        """End the attempt. The score that counts is in the score log already.

        Args:
            answer: One sentence on what was done.
        """
        return answer

    return execute


def submitted(results: list[ChatMessage]) -> str | None:
    """Give the answer that was submitted, if a call of `submit` went well."""
    for message in results:
        if isinstance(message, ChatMessageTool) and message.function == SUBMIT:
            if message.error is None:
                return message.text
    return None
