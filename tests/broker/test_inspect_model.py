"""A broker in front of a model that Inspect knows."""

from typing import Any

import pytest
from inspect_ai.model import ChatCompletionChoice as InspectChoice
from inspect_ai.model import ChatMessageAssistant, ModelAPI, ModelOutput, ModelUsage, modelapi

from openrebench.broker.inspect_model import InspectModel
from openrebench.broker.upstream import Ask, Message
from openrebench.errors import ReBenchError

from .conftest import MODEL, Make

# Of Inspect's own way to retry.
pytestmark = pytest.mark.filterwarnings("ignore:The 'initial' parameter:DeprecationWarning")


class Local(ModelAPI):
    """Says what it was asked; gives at most `most` completions at a time, and counts or not."""

    def __init__(self, model_name: str, **_: Any) -> None:
        super().__init__(model_name)

    async def generate(self, input: Any, tools: Any, tool_choice: Any, config: Any) -> ModelOutput:
        most = 1 if self.model_name == "one" else config.num_choices or 1
        said = f"{input[0].role}:{input[-1].text} t={config.temperature} m={config.max_tokens}"
        choices = [
            InspectChoice(
                message=ChatMessageAssistant(content=f"{said} #{k}"),
                stop_reason="max_tokens" if k else "stop",
            )
            for k in range(most)
        ]
        usage = ModelUsage(input_tokens=7, output_tokens=3 * most, total_tokens=7 + 3 * most)
        return ModelOutput(model=self.model_name, choices=choices, usage=usage)


@modelapi(name="brokertest")
def brokertest() -> type[ModelAPI]:
    return Local


ASK = Ask(
    messages=(Message("system", "be brief"), Message("user", "hi")),
    n=3,
    max_tokens=9,
    temperature=0.5,
)


@pytest.mark.parametrize(
    ("name", "prompt_tokens", "finish"),
    [("one", 21, ["stop"] * 3), ("many", 7, ["stop", "length", "length"])],
)
def test_as_many_completions_as_asked_for(name: str, prompt_tokens: int, finish: list[str]) -> None:
    model = InspectModel(f"brokertest/{name}")
    try:
        found = model.complete(ASK)
    finally:
        model.close()
    assert [choice.finish for choice in found.choices] == finish
    assert found.choices[0].text == "system:hi t=0.5 m=9 #0"
    assert (found.prompt_tokens, found.completion_tokens) == (prompt_tokens, 9)


def test_an_unknown_model_is_one_sentence() -> None:
    with pytest.raises(ReBenchError, match="the model 'nobody/nothing' can't be used"):
        InspectModel("nobody/nothing")


def test_it_answers_behind_the_door(make_door: Make) -> None:
    door = make_door(model=InspectModel("brokertest/many"))
    answer = door.service.answer(
        {"model": MODEL, "messages": [{"role": "user", "content": "hi"}], "n": 2}
    )
    assert len(answer["choices"]) == 2  # type: ignore[arg-type]
