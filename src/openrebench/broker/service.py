"""The broker: checks a request, books it, asks the model, and writes down what came of it."""

import hashlib
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, final

from pydantic import JsonValue

from openrebench.broker import wire
from openrebench.broker.meter import Meter, Prices
from openrebench.broker.upstream import Ask, Completion, Upstream, estimated_tokens
from openrebench.broker.wire import Body, ChatRequest, Refusal
from openrebench.core.service import Request, Service

if TYPE_CHECKING:
    from openrebench.broker.door import HttpDoor

LOGGED_CHARACTERS, LOGGED_MESSAGES = 2000, 3  # the last ones; hashes cover all of them
SAFE_CHARACTERS_PER_TOKEN = 2  # books more than any tokenizer makes of ordinary text


@final
class Broker(Service):
    """Offers one model to one session.

    Args:
        upstream: The model.
        model: The only name that requests may ask for.
        meter: Where calls are booked.
        prices: Of the model.
        max_n: Most completions of one request.
        max_tokens: Longest completion.
    """

    name = "broker"

    def __init__(
        self,
        upstream: Upstream,
        *,
        model: str,
        meter: Meter,
        prices: Prices,
        max_n: int = 64,
        max_tokens: int = 2048,
    ) -> None:
        super().__init__(meter.journal)
        self.model, self._upstream = model, upstream
        self._meter, self._prices = meter, prices
        self._max_n, self._max_tokens = max_n, max_tokens
        self._closed = False

    def door(self, workspace: Path) -> "HttpDoor":
        """Open the socket `broker.sock` in a folder; closing the door closes the broker."""
        from openrebench.broker.door import HttpDoor

        return HttpDoor(self, workspace)

    def answer(self, request: Request) -> Body:
        """Answer one request for chat completions.

        Raises:
            Refusal: It is malformed, names another model, or would pass a cap.
        """
        return self.reply(wire.read_request(request))

    def reply(self, wanted: ChatRequest) -> Body:
        """Answer a request whose form was checked; raises as `answer` does."""
        if wanted.model != self.model:
            message = (
                f"model '{wanted.model[:80]}' is not offered; the only model is '{self.model}'"
            )
            raise Refusal(404, "model_not_found", message)
        if self._closed:
            raise Refusal(503, "closed", "this broker is closed; its attempt or score call ended")
        ask = wanted.ask(max_n=self._max_n, max_tokens=self._max_tokens)
        return wire.answer_body(wire.Priced(self.model, self._metered(ask)))

    def usage(self) -> Body:
        """Tell what is used and what the caps are."""
        return {
            name: {kind: dict(amounts._asdict()) for kind, amounts in pair.items()}
            for name, pair in self._meter.used().items()
        }

    def close(self) -> None:
        """Answer nothing any more."""
        self._closed = True
        self._upstream.close()

    def _metered(self, ask: Ask) -> Completion:
        prompt = -(-len(ask.text) // SAFE_CHARACTERS_PER_TOKEN) + 8 * len(ask.messages)
        most = ask.n * ask.max_tokens
        call = self._meter.book(prompt + most, self._prices.usd(prompt, most), _asked(ask))
        began = time.monotonic()
        try:
            completion = self._upstream.complete(ask)
            if len(completion.choices) != ask.n:
                raise ValueError(f"{len(completion.choices)} completions instead of {ask.n}")
        except Exception as error:
            self._meter.refund(call, f"{type(error).__name__}: {error}"[:500])
            message = "the model could not be reached from our side; this call was not charged"
            raise Refusal(502, "upstream_error", message) from error
        tokens = completion.prompt_tokens, completion.completion_tokens
        facts = _answered(completion, time.monotonic() - began)
        self._meter.settle(call, sum(tokens), self._prices.usd(*tokens), facts)
        return completion


def _asked(ask: Ask) -> dict[str, JsonValue]:
    """What of a request the journal keeps."""
    messages: list[JsonValue] = [
        {"role": m.role, "content": m.content[:LOGGED_CHARACTERS], "sha256": _sha256(m.content)}
        for m in ask.messages[-LOGGED_MESSAGES:]
    ]
    facts: dict[str, JsonValue] = {
        "n": ask.n,
        "max_tokens": ask.max_tokens,
        "temperature": ask.temperature,
    }
    whole: dict[str, JsonValue] = {
        "count": len(ask.messages),
        "sha256": _sha256(repr(ask.messages)),
    }
    return {**facts, "seed": ask.seed, "messages": messages, "prompt": whole}


def _answered(completion: Completion, seconds: float) -> dict[str, JsonValue]:
    hashes: Sequence[str] = [_sha256(choice.text) for choice in completion.choices]
    return {
        "prompt_tokens": completion.prompt_tokens,
        "completion_tokens": completion.completion_tokens,
        "seconds": round(seconds, 3),
        "completions": list(hashes),
        **completion.facts,
    }


def _sha256(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def counted(ask: Ask, texts: Sequence[str]) -> tuple[int, int]:
    """Estimate the tokens of a prompt and of its completions, where no provider counts them."""
    return estimated_tokens(ask.text), sum(estimated_tokens(text) for text in texts)
