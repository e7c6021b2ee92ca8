"""Choose among several possible next actions of a model."""

import json
from collections.abc import Sequence

from inspect_ai.model import ChatMessage, ChatMessageAssistant, ChatMessageUser, Model, ModelOutput
from inspect_ai.tool import Tool, ToolFunction, tool

from openrebench.agents.prompts import fill


@tool(name="choose")
def choice() -> Tool:
    """Give the tool with which the choosing model answers; it is never run."""

    async def execute(option: int, reason: str = "") -> str:
        """Choose an action.

        Args:
            option: Number of the action, from 1.
            reason: One sentence.
        """
        raise NotImplementedError

    return execute


def distinct(outputs: Sequence[ModelOutput]) -> list[ChatMessageAssistant]:
    """Take the answers that call a tool, once each; the first answer if none does."""
    answers = [output.message for output in outputs if output.choices]
    calling: dict[str, ChatMessageAssistant] = {}
    for answer in answers:
        if answer.tool_calls:
            calling.setdefault(_key(answer), answer)
    return list(calling.values()) or answers[:1]


async def choose(
    model: Model,
    seen: Sequence[ChatMessage],
    options: Sequence[ChatMessageAssistant],
    tools: Sequence[Tool],
) -> ChatMessageAssistant:
    """Let a model choose; the first option stands where it names none.

    Args:
        model: Who chooses.
        seen: The conversation that the options answer.
        options: At least one possible answer.
        tools: Tools that the conversation uses; some providers insist on knowing them.
    """
    if len(options) == 1:
        return options[0]
    listed = "\n\n".join(_described(number, option) for number, option in enumerate(options, 1))
    question = ChatMessageUser(content=fill("choose", count=len(options), options=listed))
    output = await model.generate(
        [*seen, question], tools=[*tools, choice()], tool_choice=ToolFunction("choose")
    )
    number = _chosen(output)
    return options[number - 1] if 1 <= number <= len(options) else options[0]


def _chosen(output: ModelOutput) -> int:
    """Read the number, 0 if there is none."""
    calls = (output.message.tool_calls or []) if output.choices else []
    given = next((call.arguments.get("option") for call in calls if call.function == "choose"), 0)
    try:
        return int(str(given))
    except ValueError:
        return 0


def _described(number: int, option: ChatMessageAssistant) -> str:
    calls = [{"tool": c.function, "arguments": c.arguments} for c in option.tool_calls or []]
    return f"Action {number}: {option.text}\n{json.dumps(calls, ensure_ascii=False)}"


def _key(answer: ChatMessageAssistant) -> str:
    calls = [[call.function, call.arguments] for call in answer.tool_calls or []]
    return json.dumps(calls, sort_keys=True, default=str)
