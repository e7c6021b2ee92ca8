"""A broker over a model that says what it was asked, with its socket."""

import itertools
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from openrebench.broker.door import HttpDoor
from openrebench.broker.meter import Amounts, Cap, Meter, Prices
from openrebench.broker.service import Broker, counted
from openrebench.broker.upstream import Ask, Choice, Completion
from openrebench.core.service import Journal

PRICES = Prices(prompt_usd=0.5, completion_usd=1.5)
PLENTY = Amounts(calls=10_000, tokens=1e9, usd=1e4)
MODEL = "pinned-1"


class Echo:
    """A model that gives the last message back, numbered through all calls."""

    def __init__(self) -> None:
        self.asked: list[Ask] = []
        self._number = itertools.count()

    def complete(self, ask: Ask) -> Completion:
        self.asked.append(ask)
        if ask.messages[-1].content == "break":
            raise ConnectionError("no route")
        texts = [f"{ask.messages[-1].content} #{next(self._number)}" for _ in range(ask.n)]
        prompt, completion = counted(ask, texts)
        return Completion(
            choices=[Choice(text) for text in texts],
            prompt_tokens=prompt,
            completion_tokens=completion,
        )

    def close(self) -> None:
        pass


Make = Callable[..., HttpDoor]


@pytest.fixture
def make_door(tmp_path: Path) -> Iterator[Make]:
    """Give a function that opens a broker's door in a workspace."""
    with ExitStack() as doors:

        def make(
            *,
            attempt: Amounts = PLENTY,
            session: Amounts = PLENTY,
            name: str = "workspace",
            model: object = None,
        ) -> HttpDoor:
            workspace = tmp_path / name
            workspace.mkdir()
            meter = Meter(
                journal=Journal(tmp_path / "broker.jsonl"),
                session=name,
                attempt_cap=Cap("attempt", attempt),
                session_cap=Cap("session", session),
            )
            broker = Broker(model or Echo(), model=MODEL, meter=meter, prices=PRICES)
            return doors.enter_context(HttpDoor(broker, workspace))

        yield make
