"""What a broker asks for completions: the model behind it."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple, Protocol

Finish = Literal["stop", "length"]
CHARACTERS_PER_TOKEN = 4


class Message(NamedTuple):
    """One message; `role` is `system`, `user` or `assistant`."""

    role: str
    content: str


@dataclass(frozen=True, kw_only=True)
class Ask:
    """A request for completions, checked.

    Args:
        messages: The conversation, at least one message.
        n: Completions wanted, independent of each other.
        max_tokens: Longest completion.
        temperature: 0 to 2; the model's own if None.
        seed: Equal seeds ask for equal completions; none if None.
        stop: Texts before which a completion ends.
    """

    messages: tuple[Message, ...]
    n: int
    max_tokens: int
    temperature: float | None = None
    seed: int | None = None
    stop: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """All messages as one text."""
        return "\n".join(message.content for message in self.messages)


class Choice(NamedTuple):
    """One completion."""

    text: str
    finish: Finish = "stop"


@dataclass(frozen=True, kw_only=True)
class Completion:
    """What a model gave; tokens as the provider counts them, the completions' together."""

    choices: Sequence[Choice]
    prompt_tokens: int
    completion_tokens: int
    facts: dict[str, str] = field(default_factory=dict)


class Upstream(Protocol):
    """A model; called from many threads at a time."""

    def complete(self, ask: Ask) -> Completion:
        """Give exactly `ask.n` completions."""

    def close(self) -> None:
        """Let go of what it holds."""


def estimated_tokens(text: str) -> int:
    """Estimate how many tokens a text has, for models that don't count.

    Example:
        >>> estimated_tokens("four letters each")
        5
    """
    return -(-len(text) // CHARACTERS_PER_TOKEN)
