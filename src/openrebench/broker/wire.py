"""OpenAI's chat completions, as its clients write and read them.

Offered: `messages` with text, `n`, `stop`, `temperature`, `max_tokens` (or
`max_completion_tokens`), `seed`, `stream` with `stream_options.include_usage`, `user`. Everything
else is refused by name: nothing is silently left out.
"""

import json
import time
import uuid
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from pydantic import BaseModel, ConfigDict, Field, JsonValue, ValidationError, field_validator

from openrebench.broker.upstream import Ask, Completion, Message
from openrebench.core.service import Refused

Body = dict[str, JsonValue]
MAX_STOPS = 4
MAX_MESSAGES = 256


class Refusal(Refused):
    """A request that is answered with an error of HTTP.

    Args:
        status: HTTP status.
        code: Word for programs, as OpenAI uses them.
        message: One sentence for the solver.
    """

    def __init__(self, status: int, code: str, message: str) -> None:
        super().__init__(message)
        self.status, self.code = status, code

    def body(self) -> Body:
        """Give the error as clients expect it."""
        kind = "invalid_request_error" if self.status < 429 else "broker_error"
        return {"error": {"message": str(self), "type": kind, "param": None, "code": self.code}}


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid")
    type: str = Field(pattern="^text$")
    text: str


class _Message(BaseModel):
    model_config = ConfigDict(extra="forbid")
    role: str = Field(pattern="^(system|developer|user|assistant)$")
    content: str | list[_Part]
    name: str | None = None

    def plain(self) -> Message:
        """Give role and text."""
        content = self.content
        text = content if isinstance(content, str) else "".join(part.text for part in content)
        return Message("system" if self.role == "developer" else self.role, text)


class _StreamOptions(BaseModel):
    model_config = ConfigDict(extra="forbid")
    include_usage: bool = False


class ChatRequest(BaseModel):
    """A request for chat completions."""

    model_config = ConfigDict(extra="forbid")

    model: str
    messages: list[_Message] = Field(min_length=1, max_length=MAX_MESSAGES)
    n: int = Field(default=1, ge=1)
    stop: str | list[str] | None = None
    temperature: float | None = Field(default=None, ge=0, le=2)
    max_tokens: int | None = Field(default=None, ge=1)
    max_completion_tokens: int | None = Field(default=None, ge=1)
    seed: int | None = None
    stream: bool = False
    stream_options: _StreamOptions | None = None
    user: str | None = None

    @field_validator("stop")
    @classmethod
    def _few_stops(cls, value: str | list[str] | None) -> str | list[str] | None:
        if isinstance(value, list) and len(value) > MAX_STOPS:
            raise ValueError(f"at most {MAX_STOPS} texts")
        return value

    def ask(self, *, max_n: int, max_tokens: int) -> Ask:
        """Give the request to the model.

        Args:
            max_n: Most completions of one request.
            max_tokens: Longest completion, also if none is asked for.

        Raises:
            Refusal: It asks for more completions.
        """
        if self.n > max_n:
            raise Refusal(400, "invalid_value", f"n is {self.n}; it may be at most {max_n}")
        wanted = self.max_tokens or self.max_completion_tokens or max_tokens
        stops = [self.stop] if isinstance(self.stop, str) else self.stop or []
        return Ask(
            messages=tuple(message.plain() for message in self.messages),
            n=self.n,
            max_tokens=min(wanted, max_tokens),
            temperature=self.temperature,
            seed=self.seed,
            stop=tuple(stop for stop in stops if stop),
        )


class Priced(NamedTuple):
    """A completion with the name of the model that gave it."""

    model: str
    completion: Completion


def read_request(request: Mapping[str, JsonValue]) -> ChatRequest:
    """Check a request.

    Raises:
        Refusal: A field is missing, wrong or not offered.
    """
    try:
        return ChatRequest.model_validate(request)
    except ValidationError as error:
        problem = error.errors(include_url=False)[0]
        place = ".".join(str(part) for part in problem["loc"])
        said = "is not offered" if problem["type"] == "extra_forbidden" else problem["msg"]
        raise Refusal(400, "invalid_request", f"{place}: {said}") from error


def answer_body(priced: Priced) -> Body:
    """Give the answer to a request that is not streamed."""
    choices: list[JsonValue] = [
        {
            "index": index,
            "finish_reason": choice.finish,
            "logprobs": None,
            "message": {"role": "assistant", "content": choice.text, "refusal": None},
        }
        for index, choice in enumerate(priced.completion.choices)
    ]
    return {**_head(priced.model, "chat.completion"), "choices": choices, "usage": _usage(priced)}


def events(body: Body, *, include_usage: bool) -> Iterator[bytes]:
    """Give an answer as server-sent events: each completion whole, then the end of each.

    Args:
        body: From `answer_body`.
        include_usage: Whether the last chunk tells the usage.
    """
    head = {**body, "object": "chat.completion.chunk", "usage": None}
    for choice in body["choices"]:  # type: ignore[union-attr]
        delta = {"role": "assistant", "content": choice["message"]["content"]}  # type: ignore[index,call-overload]
        yield _event({**head, "choices": [_delta(choice, delta, None)]})
        yield _event({**head, "choices": [_delta(choice, {}, choice["finish_reason"])]})  # type: ignore[index,call-overload]
    if include_usage:
        yield _event({**head, "choices": [], "usage": body["usage"]})
    yield b"data: [DONE]\n\n"


def models_body(model: str) -> Body:
    """List the one model that is offered."""
    return {"object": "list", "data": [model_body(model)]}


def model_body(model: str) -> Body:
    """Describe the one model that is offered."""
    return {"id": model, "object": "model", "created": 0, "owned_by": "broker"}


def _head(model: str, kind: str) -> Body:
    name = f"chatcmpl-{uuid.uuid4().hex[:24]}"
    return {"id": name, "object": kind, "created": int(time.time()), "model": model}


def _usage(priced: Priced) -> JsonValue:
    used = priced.completion
    return {
        "prompt_tokens": used.prompt_tokens,
        "completion_tokens": used.completion_tokens,
        "total_tokens": used.prompt_tokens + used.completion_tokens,
    }


def _delta(choice: JsonValue, delta: Body, finish: JsonValue) -> JsonValue:
    index = choice["index"]  # type: ignore[index,call-overload]
    return {"index": index, "delta": delta, "logprobs": None, "finish_reason": finish}


def _event(body: Body) -> bytes:
    return b"data: " + json.dumps(body).encode() + b"\n\n"
