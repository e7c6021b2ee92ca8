"""A model that replays prepared messages: any agent runs with it, without key or network.

    inspect eval openrebench/prefix_sum --model scripted/demo -M script=messages.yaml

The file is a list. Each item has `text`, or `tool` with `arguments`, or `error`.
"""

from pathlib import Path
from typing import Any

import yaml  # type: ignore[import-untyped]
from inspect_ai.model import (
    ChatMessage,
    ChatMessageAssistant,
    GenerateConfig,
    ModelAPI,
    ModelOutput,
    ModelUsage,
    modelapi,
)
from inspect_ai.tool import ToolChoice, ToolInfo

from openrebench.errors import ReBenchError

USAGE = ModelUsage(input_tokens=10, output_tokens=5, total_tokens=15)  # else Inspect would count
SUBMIT = {"tool": "submit", "arguments": {"answer": "done"}}


class ScriptedModel(ModelAPI):
    """Answers with the message whose number is that of the assistant messages so far.

    Counting the messages instead of the calls makes it survive a resume.
    """

    def __init__(
        self,
        model_name: str,
        base_url: str | None = None,
        api_key: str | None = None,
        config: GenerateConfig = GenerateConfig(),  # noqa: B008 - the base class has it so
        script: str | list[dict[str, Any]] | None = None,
        **_: Any,  # noqa: ANN401 - whatever else a user passes to a model
    ) -> None:
        super().__init__(model_name, base_url, api_key, [], config)
        self.script = read_script(Path(script)) if isinstance(script, str) else script or []

    async def generate(
        self,
        input: list[ChatMessage],
        tools: list[ToolInfo],
        tool_choice: ToolChoice,
        config: GenerateConfig,
    ) -> ModelOutput:
        """Give the next message; after the last one, submit."""
        said = sum(isinstance(message, ChatMessageAssistant) for message in input)
        item = self.script[said] if said < len(self.script) else SUBMIT
        if "error" in item:
            raise RuntimeError(item["error"])
        output = self._output(item, said)
        output.usage = USAGE
        return output

    def _output(self, item: dict[str, Any], said: int) -> ModelOutput:
        if "tool" not in item:
            return ModelOutput.from_content(self.model_name, item["text"])
        return ModelOutput.for_tool_call(
            self.model_name, item["tool"], item.get("arguments", {}), tool_call_id=f"call_{said}"
        )


@modelapi(name="scripted")
def scripted_model() -> type[ModelAPI]:
    """Register the model as `scripted/<any name>`."""
    return ScriptedModel


def read_script(path: Path) -> list[dict[str, Any]]:
    """Read messages from a YAML or JSON file.

    Raises:
        ReBenchError: The file can't be read or an item is none of the three kinds.
    """
    try:
        script = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (OSError, yaml.YAMLError) as error:
        raise ReBenchError(f"{path}: can't be read as a script ({error})") from error
    for number, item in enumerate(script):
        if not isinstance(item, dict) or not item.keys() & {"text", "tool", "error"}:
            raise ReBenchError(f"{path}: item {number} is {item!r}; it needs text, tool or error")
    return list(script)
