"""Ask a model for a solution, and read what it answers, however it is written."""

import re
from collections.abc import Mapping
from pathlib import PurePosixPath

from inspect_ai.model import (
    ChatMessage,
    ChatMessageUser,
    GenerateConfig,
    Model,
    ModelOutput,
)
from inspect_ai.tool import Tool, ToolFunction, tool
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from openrebench.agents.prompts import fill

TRIES = 3
BLOCK = re.compile(r"^```[ \t]*([\w+-]*)[ \t]*([^\n`]*)\n(.*?)^```", re.M | re.S)
COMMAND_LANGUAGE = "run"


class File(BaseModel):
    """A file with its whole text."""

    path: str = Field(description="Path relative to the workspace.")
    content: str = Field(description="The whole text.")


class Proposal(BaseModel):
    """A solution as a model proposes it."""

    model_config = ConfigDict(extra="ignore")

    plan: str = ""
    files: list[File] = Field(default_factory=list)
    command: str = ""

    def texts(self) -> Mapping[str, str]:
        """Texts of the files by path.

        Raises:
            ValueError: A path leads out of the workspace, or nothing was proposed.
        """
        if not self.files and not self.command.strip():
            raise ValueError("it has neither a file nor a command")
        for file in self.files:
            path = PurePosixPath(file.path)
            if path.is_absolute() or ".." in path.parts or not path.name:
                raise ValueError(f"the path {file.path!r} is not below the workspace")
        return {str(PurePosixPath(file.path)): file.content for file in self.files}


@tool
def propose() -> Tool:
    """Give the tool with which a model proposes a solution; it is never run."""

    async def execute(plan: str, files: list[File], command: str = "") -> str:
        """Propose a solution, which is then run and scored.

        Args:
            plan: Three to five sentences.
            files: Every new or changed file.
            command: What to run before scoring; empty for nothing.
        """
        raise NotImplementedError

    return execute


@tool
def review() -> Tool:
    """Give the tool with which a model sums up what came of a solution; it is never run."""

    async def execute(summary: str) -> str:
        """Sum up what came of a solution.

        Args:
            summary: Two or three sentences.
        """
        raise NotImplementedError

    return execute


async def ask_for_proposal(
    model: Model, messages: list[ChatMessage], config: GenerateConfig
) -> Proposal | str:
    """Ask until there is a proposal, a few times; else give what was wrong with the last answer."""
    problem = ""
    for _ in range(TRIES):
        output = await model.generate(
            messages, tools=[propose()], tool_choice=ToolFunction("propose"), config=config
        )
        try:
            proposal = read_proposal(output)
            proposal.texts()
            return proposal
        except ValueError as error:
            problem = first_problem(error)
        messages = [*messages, ChatMessageUser(content=fill("no_proposal", problem=problem))]
    return problem


async def ask_for_review(model: Model, question: str) -> str:
    """Let a model sum up what came of a solution; empty if it says nothing."""
    output = await model.generate(
        [ChatMessageUser(content=question)], tools=[review()], tool_choice=ToolFunction("review")
    )
    if not output.choices:
        return ""
    for call in output.message.tool_calls or []:
        if isinstance(call.arguments.get("summary"), str):
            return str(call.arguments["summary"])
    return output.completion.strip()


def read_proposal(output: ModelOutput) -> Proposal:
    """Read a proposal from a tool call, or from code blocks.

    Raises:
        ValueError: There is neither.
    """
    if not output.choices:
        raise ValueError("the answer was empty")
    for call in output.message.tool_calls or []:
        if call.parse_error:
            raise ValueError(call.parse_error)
        if call.function == "propose":
            return Proposal.model_validate(call.arguments)
    return read_blocks(output.completion)


def read_blocks(text: str) -> Proposal:
    r"""Read a proposal from code blocks that name their files.

    Raises:
        ValueError: There are none.

    Example:
        >>> read_blocks("Faster.\n```python a.py\nx = 1\n```\n```run\nmake\n```\n").texts()
        {'a.py': 'x = 1\n'}
    """
    files, command = [], ""
    for language, path, content in BLOCK.findall(text):
        if language == COMMAND_LANGUAGE:
            command = content
        elif path.strip():
            files.append(File(path=path.strip(), content=content))
    if not files and not command:
        raise ValueError("it calls no tool, and no code block names its file")
    return Proposal(plan=BLOCK.sub("", text).strip(), files=files, command=command)


def first_problem(error: ValueError) -> str:
    """Say in one sentence what is wrong with an answer."""
    if isinstance(error, ValidationError):
        found = error.errors()[0]
        return f"{'.'.join(map(str, found['loc']))}: {found['msg']}"
    return str(error)
