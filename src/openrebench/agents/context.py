"""Keep a conversation short enough for its model."""

from collections.abc import Sequence

from inspect_ai.model import ChatMessage, ChatMessageUser, ModelOutput

from openrebench.agents.prompts import fill

LETTERS_PER_TOKEN = 4.0  # until a provider has said more
MESSAGE_LETTERS = 40  # what a message costs apart from its text
LEFT_OUT = 0.3  # of the turns at a time: a beginning that changes seldom is cheaper with caches


class Context:
    """Estimates how long a conversation is, and cuts it.

    Args:
        limit_tokens: What a request may hold.
    """

    def __init__(self, limit_tokens: int) -> None:
        self.limit_tokens = limit_tokens
        self._tokens_per_letter = 1 / LETTERS_PER_TOKEN

    def learn(self, sent: Sequence[ChatMessage], output: ModelOutput) -> None:
        """Take over how many tokens the provider counted, if that is more than was estimated."""
        if output.usage is not None:
            counted = output.usage.input_tokens + (output.usage.input_tokens_cache_read or 0)
            counted += output.usage.input_tokens_cache_write or 0
            self._tokens_per_letter = max(self._tokens_per_letter, counted / letters(sent))

    def tokens(self, messages: Sequence[ChatMessage]) -> float:
        """Estimate the length of a conversation."""
        return letters(messages) * self._tokens_per_letter

    def fitted(self, messages: list[ChatMessage]) -> list[ChatMessage]:
        """Leave out the oldest turns if the conversation is too long."""
        if self.tokens(messages) <= self.limit_tokens:
            return messages
        return self.shortened(messages)

    def shortened(self, messages: list[ChatMessage]) -> list[ChatMessage]:
        """Leave out the oldest turns, some in any case, until the rest fits.

        What came before the first answer of the model stays, and so does the last turn. Turns
        are left out whole, so that no tool result is without its call.
        """
        opening, turns = split(messages)
        while len(turns) > 1:
            turns = turns[max(1, round(LEFT_OUT * len(turns))) :]
            if self.tokens([*opening, *joined(turns)]) <= self.limit_tokens:
                break
        return [*opening, *joined(turns)]


def split(messages: Sequence[ChatMessage]) -> tuple[list[ChatMessage], list[list[ChatMessage]]]:
    """Split a conversation into its opening and turns that begin with an answer of the model.

    The notice that something was left out belongs to neither.
    """
    opening: list[ChatMessage] = []
    turns: list[list[ChatMessage]] = []
    for message in messages:
        if message.role == "assistant":
            turns.append([message])
        elif turns:
            turns[-1].append(message)
        elif message.text != NOTICE:
            opening.append(message)
    return opening, turns


def joined(turns: Sequence[Sequence[ChatMessage]]) -> list[ChatMessage]:
    """Put the turns that are left behind a notice."""
    return [ChatMessageUser(content=NOTICE), *(message for turn in turns for message in turn)]


def letters(messages: Sequence[ChatMessage]) -> int:
    """Count the letters of all texts and tool calls; at least 1."""
    return 1 + sum(MESSAGE_LETTERS + len(m.text) + _call_letters(m) for m in messages)


def _call_letters(message: ChatMessage) -> int:
    if message.role != "assistant":
        return 0
    return sum(len(str(call.arguments)) for call in message.tool_calls or [])


NOTICE = fill("trimmed")
