"""The agent `modular`: generate possible actions, choose one, act, until it submits.

After METR's modular scaffold (github.com/poking-agents/modular-public), in our own words and on
Inspect's tools. It differs in these points: native tool calls instead of tags in text, token
counts of the provider, a new Python process for every call.
"""

import anyio
from inspect_ai.agent import Agent, AgentState, agent
from inspect_ai.model import (
    ChatMessage,
    ChatMessageAssistant,
    ChatMessageSystem,
    ChatMessageTool,
    ChatMessageUser,
    GenerateConfig,
    Model,
    ModelOutput,
    execute_tools,
    get_model,
)
from inspect_ai.util import collect
from pydantic import BaseModel, ConfigDict, Field

from openrebench.agents.choosing import choose, distinct
from openrebench.agents.context import Context
from openrebench.agents.lines import Lines
from openrebench.agents.options import read_options
from openrebench.agents.prompts import fill
from openrebench.agents.toolkit import Timeout, all_tools, submitted
from openrebench.agents.usage import urgency, usage_line
from openrebench.harness import live
from openrebench.harness.feedback import describe_log

FILE = "conversation.jsonl"  # in the attempt's folder
FRUITLESS = 10  # answers without a tool call, one after the other
LONG_RESULT, SHOWN = 8_000, 300  # letters; of longer results only both ends are kept later on
NOTES = 8_000  # letters
PAUSE_S = 0.2  # after an answer without a call, so that a broken provider is not asked in a rush


class Options(BaseModel):
    """Settings of `modular`.

    Attributes:
        candidates: Possible actions generated at each step.
        choose: Whether a model chooses among them; otherwise the first counts.
        wipe_minutes: Working minutes after which the conversation is erased but for notes; 0 for
            never. The paper finds that a long context hurts (Wijk et al. 2024, arXiv:2411.15114).
        context_tokens: Above this many the oldest turns are left out.
        timeout_s: Time-out of `bash` and `python` until the model sets another.
        temperature: Of the candidates; the provider's own if None.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    candidates: int = Field(default=1, ge=1, le=64)
    choose: bool = True
    wipe_minutes: float = Field(default=0.0, ge=0)
    context_tokens: int = Field(default=96_000, ge=1_000)
    timeout_s: int = Field(default=120, ge=1, le=1_200)
    temperature: float | None = Field(default=None, ge=0, le=2)


class Turn(BaseModel):
    """One line of the conversation's file: messages that were added, or all after a wipe.

    Attributes:
        number: Of the turn, from 1.
        wiped: Whether everything before is erased.
        messages: What was said.
        wiped_s: Working seconds of the last wipe.
    """

    number: int
    wiped: bool = False
    messages: list[ChatMessage]
    wiped_s: float = 0.0


@agent
def modular(
    candidates: int = 1,
    choose: bool = True,
    wipe_minutes: float = 0.0,
    context_tokens: int = 96_000,
    timeout_s: int = 120,
    temperature: float | None = None,
) -> Agent:
    """Generate, choose, act, until submitted (see `Options`)."""
    options = read_options(Options, "modular", locals())

    async def execute(state: AgentState) -> AgentState:
        live.current().settings.update(options.model_dump())
        run = _Run(options, state)
        return await run.until_submitted()

    return execute


class _Run:
    """One attempt of `modular`."""

    def __init__(self, options: Options, state: AgentState) -> None:
        self.options, self.state = options, state
        self.model = get_model()
        self.chooser: Model = get_model(role="chooser", default=self.model)
        self.tools = all_tools(Timeout(options.timeout_s))
        self.context = Context(options.context_tokens)
        self.lines = Lines(live.current().attempt.folder / FILE, Turn)
        self.opening = [ChatMessageSystem(content=fill("modular")), *state.messages]
        self.number, self.wiped_s, self.fruitless = 0, live.current().clock.used_s(), 0
        self.state.messages = list(self.opening)
        self._resume()

    def _resume(self) -> None:
        """Go on with the conversation of an attempt that was interrupted."""
        for turn in self.lines.read():
            kept = self.opening if turn.wiped else self.state.messages
            self.state.messages = [*kept, *turn.messages]
            self.number, self.wiped_s = turn.number, turn.wiped_s
        if self.number:
            self.state.messages.append(ChatMessageUser(content=fill("resumed")))

    async def until_submitted(self) -> AgentState:
        while self.fruitless < FRUITLESS:
            await self._wipe_if_due()
            answer = await self._next_action()
            results = await self._act(answer)
            self._add([answer, *results])
            if submitted(results) is not None:
                return self.state
        return self.state

    async def _next_action(self) -> ChatMessageAssistant:
        """Generate candidates and choose one; an empty answer if the model gave nothing."""
        seen = self._view()
        count = self.options.candidates
        outputs = await collect(*[self._generate(seen) for _ in range(count)])
        if any(output.choices and output.stop_reason == "model_length" for output in outputs):
            self.state.messages = self.context.shortened(self.state.messages)
        found = distinct(outputs) or [ChatMessageAssistant(content="", model=self.model.name)]
        if self.options.choose and len(found) > 1:
            return await choose(self.chooser, seen, found, self.tools)
        return found[0]

    async def _generate(self, seen: list[ChatMessage]) -> ModelOutput:
        config = GenerateConfig(temperature=self.options.temperature)
        self.state.output = await self.model.generate(seen, tools=self.tools, config=config)
        self.context.learn(seen, self.state.output)
        return self.state.output

    def _view(self) -> list[ChatMessage]:
        """Give what the model sees: the conversation, cut to its limit, and what is left."""
        self.state.messages = self.context.fitted(_abridged(self.state.messages))
        note = fill("usage", turn=self.number + 1, usage=usage_line(), urgency=urgency())
        return [*self.state.messages, ChatMessageUser(content=note)]

    async def _act(self, answer: ChatMessageAssistant) -> list[ChatMessage]:
        if answer.tool_calls:
            self.fruitless = 0
            return (await execute_tools([*self.state.messages, answer], self.tools)).messages
        self.fruitless += 1
        await anyio.sleep(PAUSE_S)
        return [ChatMessageUser(content=fill("no_call"))]

    def _add(self, messages: list[ChatMessage], *, wiped: bool = False) -> None:
        kept = self.opening if wiped else self.state.messages
        self.state.messages = [*kept, *messages]
        self.number += not wiped
        self.lines.append(
            Turn(number=self.number, wiped=wiped, messages=messages, wiped_s=self.wiped_s)
        )

    async def _wipe_if_due(self) -> None:
        """Erase the conversation but for notes that the model writes first."""
        now_s = live.current().clock.used_s()
        if not self.options.wipe_minutes or now_s < self.wiped_s + self.options.wipe_minutes * 60:
            return
        self.wiped_s = now_s
        notes = await self._notes()
        attempt = live.current().attempt
        record, card = attempt.record, attempt.environment.card
        scores = describe_log(card, record.profile, record.device, attempt.log.entries)
        text = fill("after_wipe", notes=notes, score_log=scores)
        self._add([ChatMessageUser(content=text)], wiped=True)

    async def _notes(self) -> str:
        asked = [*self._view(), ChatMessageUser(content=fill("take_notes"))]
        output = await self.model.generate(asked, tools=self.tools, tool_choice="none")
        return output.completion.strip()[:NOTES] or "(none)"


def _abridged(messages: list[ChatMessage]) -> list[ChatMessage]:
    """Keep only both ends of long results, but for those of the last turn."""
    last = max((k for k, m in enumerate(messages) if m.role == "assistant"), default=0)
    return [_abridge(message) if k < last else message for k, message in enumerate(messages)]


def _abridge(message: ChatMessage) -> ChatMessage:
    if not isinstance(message, ChatMessageTool) or len(message.text) <= LONG_RESULT:
        return message
    text = f"{message.text[:SHOWN]}\n[...]\n{message.text[-SHOWN:]}"
    return message.model_copy(update={"content": text})
