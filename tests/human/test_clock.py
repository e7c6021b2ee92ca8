"""The clock: what counts, what does not, and what a crash leaves."""

import json
from pathlib import Path

import pytest

from openrebench.core.attempt import Attempt, Solver
from openrebench.core.catalog import load_environment
from openrebench.core.reading import attempt_facts
from openrebench.human.clock import Clock, read_clock
from openrebench.isolation.local import LocalRunner


class Watch:
    """Seconds that a test moves on."""

    def __init__(self) -> None:
        self.seconds = 1000.0

    def __call__(self) -> float:
        return self.seconds


@pytest.fixture
def attempt(attempts: Path, runner: LocalRunner) -> Attempt:
    environment = load_environment("guess_number")
    return Attempt.create(
        attempts,
        environment,
        runner,
        profile="small",
        solver=Solver(kind="human", name="human"),
        time_budget_s=100.0,
        facts=attempt_facts(environment.card, "small"),
    )


@pytest.fixture
def now() -> Watch:
    return Watch()


@pytest.fixture
def clock(attempt: Attempt, now: Watch) -> Clock:
    return Clock(attempt, now)


def test_only_running_time_counts(clock: Clock, now: Watch) -> None:
    now.seconds += 5
    clock.start("sat down")
    now.seconds += 7
    with clock.held():
        now.seconds += 100
    clock.stop("paused", "lunch")
    now.seconds += 1000
    clock.start("back")
    now.seconds += 2
    assert (clock.used_s(), clock.left_s()) == (9.0, 91.0)


def test_a_clock_goes_on_where_it_stood_however_long_its_reading_takes(attempt: Attempt) -> None:
    seconds = iter(range(1000))
    clock = Clock(attempt, lambda: float(next(seconds)))
    clock.start("sat down")
    clock.stop("paused", "lunch")
    clock.start("back")
    rows = [json.loads(line) for line in (attempt.folder / "clock.jsonl").read_text().splitlines()]
    started, paused, back = (row["used_s"] for row in rows)
    assert started == 0 and back == paused > 0


def test_holding_a_clock_that_stands_does_not_start_it(clock: Clock, now: Watch) -> None:
    with clock.held():
        pass
    now.seconds += 5
    assert clock.used_s() == 0


def test_a_paused_clock_is_taken_up_where_it_was(
    attempt: Attempt, clock: Clock, now: Watch
) -> None:
    clock.start("sat down")
    now.seconds += 7
    clock.stop("paused", "night")
    now.seconds += 5
    assert Clock(attempt, now).used_s() == 7.0
    found = read_clock(attempt.folder)
    assert found is not None and (found.state, found.used_s) == ("paused", 7.0)
    assert [row["reason"] for row in found.pauses] == ["night"]


def test_a_crash_costs_a_whole_beat(attempt: Attempt, clock: Clock, now: Watch) -> None:
    clock.start("sat down")
    now.seconds += 7
    clock.beat()
    now.seconds += 0.9  # is lost with the process
    again = Clock(attempt, now)
    assert again.used_s() == 8.0 and not again.running
    assert Clock(attempt, now).used_s() == 8.0  # once
    found = read_clock(attempt.folder)
    assert found is not None and "1.0 s counted" in str(found.pauses[-1]["reason"])


def test_a_crash_does_not_hide_what_the_score_log_knows(
    attempt: Attempt, clock: Clock, now: Watch
) -> None:
    clock.start("sat down")
    (attempt.workspace).mkdir()
    (attempt.workspace / "solution.py").write_text("NUMBER = 1\n")
    attempt.score(attempt.workspace, lambda: 30.0)
    assert Clock(attempt, now).used_s() == 30.0


def test_torn_and_foreign_files_do_not_stop_a_reader(attempt: Attempt, clock: Clock) -> None:
    clock.start("sat down")
    with (attempt.folder / "clock.jsonl").open("a") as file:
        file.write('{"at": "2026-')
    (attempt.folder / "accounts.json").write_text("{")
    found = read_clock(attempt.folder)
    assert found is not None and found.state == "running"


def test_every_start_and_stop_is_on_disk_with_its_reason(
    attempt: Attempt, clock: Clock, now: Watch
) -> None:
    clock.start("sat down")
    now.seconds += 3
    clock.stop("ended", "submitted")
    rows = [json.loads(line) for line in (attempt.folder / "clock.jsonl").read_text().splitlines()]
    assert [(row["event"], row["used_s"], row["reason"]) for row in rows] == [
        ("started", 0.0, "sat down"),
        ("ended", 3.0, "submitted"),
    ]
