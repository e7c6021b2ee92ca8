"""A model that gives prepared answers: any agent runs with it, without key or network.

    inspect eval openrebench/prefix_sum --model scripted/demo -M script=messages.yaml

What the file may hold is in plan.py.
"""

from pathlib import Path
from typing import Any

import anyio
from inspect_ai.model import (
    ChatCompletionChoice,
    ChatMessage,
    ChatMessageAssistant,
    ChatMessageUser,
    GenerateConfig,
    ModelAPI,
    ModelOutput,
    ModelUsage,
    modelapi,
)
from inspect_ai.tool import ToolCall, ToolChoice, ToolInfo

from openrebench.agents.plan import Item, Plan, calls_of, offered_name, read_script

USAGE = (10, 5)  # else Inspect would count
NOT_JSON = "the arguments are not JSON: "


class ScriptedModel(ModelAPI):
    """Answers by a plan."""

    def __init__(
        self,
        model_name: str,
        base_url: str | None = None,
        api_key: str | None = None,
        config: GenerateConfig = GenerateConfig(),  # noqa: B008 - the base class has it so
        script: str | list[Item | list[Item]] | None = None,
        **_: Any,  # noqa: ANN401 - whatever else a user passes to a model
    ) -> None:
        super().__init__(model_name, base_url, api_key, [], config)
        items = read_script(Path(script)) if isinstance(script, str) else script
        self.plan = Plan(items or [])

    async def generate(
        self,
        input: list[ChatMessage],
        tools: list[ToolInfo],
        tool_choice: ToolChoice,
        config: GenerateConfig,
    ) -> ModelOutput:
        """Give the next answer; after the last one, submit."""
        said = sum(isinstance(message, ChatMessageAssistant) for message in input)
        asked = "\n".join(m.text for m in input if isinstance(m, ChatMessageUser))
        offered = [] if tool_choice == "none" else [tool.name for tool in tools]
        item = self.plan.answer(said, asked, offered)
        await anyio.sleep(item.get("wait_s", 0))
        if "error" in item:
            raise RuntimeError(item["error"])
        return self._output(item, said, offered)

    def _output(self, item: Item, said: int, offered: list[str]) -> ModelOutput:
        calls = [
            _call(call, f"call_{said}_{number}", offered)
            for number, call in enumerate(calls_of(item))
        ]
        message = ChatMessageAssistant(
            content=item.get("text", ""), tool_calls=calls or None, model=self.model_name
        )
        choice = ChatCompletionChoice(
            message=message, stop_reason="tool_calls" if calls else "stop"
        )
        read, written = item.get("usage", USAGE)
        return ModelOutput(
            model=self.model_name,
            choices=[choice],
            usage=ModelUsage(input_tokens=read, output_tokens=written, total_tokens=read + written),
        )


def _call(item: Item, call_id: str, offered: list[str]) -> ToolCall:
    arguments = item.get("arguments", {})
    wrong = isinstance(arguments, str)
    return ToolCall(
        id=call_id,
        function=offered_name(item["tool"], offered),
        arguments={} if wrong else arguments,
        parse_error=NOT_JSON + arguments if wrong else None,
    )


@modelapi(name="scripted")
def scripted_model() -> type[ModelAPI]:
    """Register the model as `scripted/<any name>`."""
    return ScriptedModel


__all__ = ["ScriptedModel", "read_script", "scripted_model"]
