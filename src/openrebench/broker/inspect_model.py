"""A model named by an Inspect model string, such as `openai/gpt-3.5-turbo-0125`.

Asked outside of any evaluation, in an event loop of its own: what a solver's scaffold uses is
metered by the broker and never counts as the evaluated agent's tokens.
"""

import asyncio
import threading
from collections.abc import Coroutine
from typing import TYPE_CHECKING, Any, TypeVar, final

from openrebench.broker.service import counted
from openrebench.broker.upstream import Ask, Choice, Completion, Message
from openrebench.errors import ReBenchError

if TYPE_CHECKING:
    from inspect_ai.model import ChatMessage, Model, ModelOutput

ANSWER_TIMEOUT_S = 600.0
T = TypeVar("T")


@final
class InspectModel:
    """An upstream that asks a model through Inspect.

    Args:
        name: Inspect model string.

    Raises:
        ReBenchError: Inspect is not installed, or does not know the model.
    """

    def __init__(self, name: str) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(
            target=self._loop.run_forever, name="broker-model", daemon=True
        )
        self._thread.start()
        try:
            self._model = self._run(_load(name))
        except BaseException as error:
            self.close()
            raise ReBenchError(f"the model '{name}' can't be used: {_first_line(error)}") from error

    def complete(self, ask: Ask) -> Completion:
        """Give `ask.n` completions (see `Upstream`)."""
        return self._run(_complete(self._model, ask))

    def close(self) -> None:
        """End the event loop."""
        if self._thread.is_alive():
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._thread.join(10)
        if not self._loop.is_running() and not self._loop.is_closed():
            self._loop.close()

    def _run(self, work: Coroutine[Any, Any, T]) -> T:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(ANSWER_TIMEOUT_S)


async def _load(name: str) -> "Model":
    from inspect_ai.model import get_model

    return get_model(name, memoize=False)


async def _complete(model: "Model", ask: Ask) -> Completion:
    """Ask for all completions at once, and singly for those that a provider then lacks."""
    outputs = [await _generate(model, ask, ask.n)]
    missing = ask.n - len(outputs[0].choices)
    outputs += await asyncio.gather(*(_generate(model, ask, 1) for _ in range(missing)))
    choices = [
        Choice(c.message.text, "length" if c.stop_reason == "max_tokens" else "stop")
        for output in outputs
        for c in output.choices
    ][: ask.n]
    prompt, completion = _usage(ask, outputs)
    return Completion(choices=choices, prompt_tokens=prompt, completion_tokens=completion)


async def _generate(model: "Model", ask: Ask, n: int) -> "ModelOutput":
    from inspect_ai.model import GenerateConfig

    config = GenerateConfig(
        num_choices=n if n > 1 else None,
        max_tokens=ask.max_tokens,
        temperature=ask.temperature,
        seed=ask.seed,
        stop_seqs=list(ask.stop) or None,
    )
    return await model.generate([_message(m) for m in ask.messages], config=config)


def _message(message: Message) -> "ChatMessage":
    from inspect_ai.model import ChatMessageAssistant, ChatMessageSystem, ChatMessageUser

    if message.role == "system":
        return ChatMessageSystem(content=message.content)
    if message.role == "assistant":
        return ChatMessageAssistant(content=message.content)
    return ChatMessageUser(content=message.content)


def _usage(ask: Ask, outputs: "list[ModelOutput]") -> tuple[int, int]:
    """Add up what the provider counted; estimate it where it did not count."""
    prompt = completion = 0
    for output in outputs:
        if output.usage is not None and output.usage.total_tokens:
            prompt += output.usage.input_tokens
            completion += output.usage.output_tokens
        else:
            estimated = counted(ask, [c.message.text for c in output.choices])
            prompt, completion = prompt + estimated[0], completion + estimated[1]
    return prompt, completion


def _first_line(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}".partition("\n")[0][:300]
