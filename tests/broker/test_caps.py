"""Caps hold whatever races, fails or crashes."""

import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from openrebench.broker.door import HttpDoor
from openrebench.broker.meter import Amounts, Cap, Meter, Prices
from openrebench.broker.wire import Refusal
from openrebench.core.service import Journal, Refused

from .conftest import MODEL, PLENTY, Make


def ask(door: HttpDoor, text: str = "hello", **more: Any) -> Any:
    body = {"model": MODEL, "messages": [{"role": "user", "content": text}], "max_tokens": 10}
    return door.service.answer({**body, **more})


def used(door: HttpDoor, name: str) -> Any:
    return door.service.usage()[name]["used"]  # type: ignore[index,call-overload]


def test_usage_is_what_the_model_counted(make_door: Make) -> None:
    door = make_door()
    ask(door, n=2)
    assert used(door, "session") == {"calls": 1, "tokens": 6, "usd": pytest.approx(7e-6)}


def test_the_cap_on_calls_holds_for_racing_calls(make_door: Make) -> None:
    door = make_door(session=PLENTY._replace(calls=20))

    def try_it(_: int) -> bool:
        try:
            ask(door)
        except Refusal as refusal:
            assert (refusal.status, refusal.code) == (429, "insufficient_quota")
            assert "cap is 20" in str(refusal)
            return False
        return True

    with ThreadPoolExecutor(16) as pool:
        assert sum(pool.map(try_it, range(60))) == 20


@pytest.mark.parametrize("cap", [PLENTY._replace(tokens=50), PLENTY._replace(usd=40e-6)])
def test_tokens_and_dollars_are_capped_before_they_are_spent(make_door: Make, cap: Amounts) -> None:
    door = make_door(session=cap)
    ask(door)
    with pytest.raises(Refusal, match="could take the session"):
        ask(door, n=10)
    assert used(door, "session")["calls"] == 1


def test_sessions_share_the_attempt_but_not_their_own_caps(make_door: Make) -> None:
    attempt, session = PLENTY._replace(calls=3), PLENTY._replace(calls=2)
    one, two = (make_door(name=n, attempt=attempt, session=session) for n in ("score 1", "score 2"))
    ask(one)
    ask(one)
    with pytest.raises(Refusal, match="the session to 3 calls"):
        ask(one)
    ask(two)
    with pytest.raises(Refusal, match="the attempt to 4 calls"):
        ask(two)


def test_a_failing_model_costs_nothing_and_is_written_down(make_door: Make, tmp_path: Path) -> None:
    door = make_door()
    with pytest.raises(Refusal, match="not charged") as caught:
        ask(door, "break")
    assert caught.value.status == 502 and used(door, "attempt")["calls"] == 0
    asked, failed = Journal(tmp_path / "broker.jsonl").rows()
    assert failed["event"] == "failed" and "no route" in str(failed["text"])
    assert asked["messages"][0]["content"] == "break"


def test_a_crash_between_question_and_answer_stays_charged(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "broker.jsonl")
    before = meter(journal)
    before.book(1000, 0.5, {})
    with (tmp_path / "broker.jsonl").open("ab") as file:
        file.write(b'{"event": "answered", "call": 0, "tok')  # killed while writing
    after = meter(Journal(tmp_path / "broker.jsonl"))
    assert after.used()["attempt"]["used"] == Amounts(1, 1000, 0.5)
    after.settle(after.book(10, 0.1, {}), 5, 0.05, {})
    assert after.used()["attempt"]["used"] == Amounts(2, 1005, pytest.approx(0.55))
    lines = (tmp_path / "broker.jsonl").read_bytes().splitlines()
    assert [json.loads(line)["event"] for line in lines] == ["asked", "asked", "answered"]


def test_two_processes_share_one_allowance(tmp_path: Path) -> None:
    meters = [meter(Journal(tmp_path / "broker.jsonl"), calls=10) for _ in range(4)]

    def book(k: int) -> bool:
        try:
            meters[k % 4].book(1, 0.0, {})
        except Refused:
            return False
        return True

    with ThreadPoolExecutor(8) as pool:
        assert sum(pool.map(book, range(40))) == 10


def test_a_closed_door_answers_nothing(make_door: Make) -> None:
    door = make_door()
    door.close()
    with pytest.raises(Refusal, match="closed"):
        ask(door)


def test_prices_are_per_million_tokens() -> None:
    assert Prices(prompt_usd=0.5, completion_usd=1.5).usd(1_000_000, 1_000_000) == 2.0


def meter(journal: Journal, calls: int = 100) -> Meter:
    cap = Cap("attempt", PLENTY._replace(calls=calls))
    return Meter(
        journal=journal, session="one", attempt_cap=cap, session_cap=Cap("session", PLENTY)
    )
