"""Models that misbehave, for tests: `odd/<what>`, where what is one of the methods below."""

from collections.abc import Awaitable, Callable
from typing import Any

import anyio
from inspect_ai.model import (
    ChatCompletionChoice,
    ChatMessageAssistant,
    ModelAPI,
    ModelOutput,
    ModelUsage,
    modelapi,
)
from inspect_ai.tool import ToolCall

GARBAGE = "\x00<tool>score(</tool>{]\ud83d" + "lorem ipsum " * 50


class OddModel(ModelAPI):
    """Answers oddly, for ever."""

    calls = 0

    async def generate(self, input: Any, tools: Any, tool_choice: Any, config: Any) -> ModelOutput:
        self.calls += 1
        await anyio.sleep(0.01)
        answer: Callable[[], Awaitable[ModelOutput]] = getattr(self, self.model_name)
        output = await answer()
        output.usage = ModelUsage(input_tokens=10, output_tokens=5, total_tokens=15)
        return output

    def should_retry(self, ex: BaseException) -> bool:
        return isinstance(ex, TimeoutError)

    async def garbage(self) -> ModelOutput:
        return ModelOutput.from_content("odd", GARBAGE.encode("utf-8", "replace").decode())

    async def nothing(self) -> ModelOutput:
        message = ChatMessageAssistant(content="")
        choice = ChatCompletionChoice(message=message, stop_reason="stop")
        return ModelOutput(model="odd", choices=[choice])

    async def silent(self) -> ModelOutput:
        await anyio.sleep(3600)
        raise AssertionError

    async def slow(self) -> ModelOutput:
        await anyio.sleep(0.5)
        return ModelOutput.from_content("odd", "late")

    async def down(self) -> ModelOutput:
        raise RuntimeError("the provider is down")

    async def busy(self) -> ModelOutput:
        """Refuses its first call, so that Inspect backs off for some seconds."""
        if self.calls < 2:
            raise TimeoutError("rate limit")
        return ModelOutput.for_tool_call("odd", "submit", {"answer": "x"})

    async def wrong_arguments(self) -> ModelOutput:
        wrong: list[tuple[str, Any]] = [
            ("bash", {"cmd": 3}),
            ("score", {"please": True}),
            ("no_such_tool", {}),
            ("bash", {"command": ["echo", {"a": 1}]}),
        ]
        calls = [
            ToolCall(id=f"{self.calls}-{number}", function=name, arguments=arguments)
            for number, (name, arguments) in enumerate(wrong)
        ]
        message = ChatMessageAssistant(content="", tool_calls=calls)
        choice = ChatCompletionChoice(message=message, stop_reason="tool_calls")
        return ModelOutput(model="odd", choices=[choice])


@modelapi(name="odd")
def odd_models() -> type[ModelAPI]:
    return OddModel
