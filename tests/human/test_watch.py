"""What is shown of attempts, whatever state they are in."""

import io
import json
import subprocess
import sys
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from rich.console import Console

from openrebench import watch
from openrebench.core.attempt import Attempt, Solver, Usage
from openrebench.core.catalog import load_environment
from openrebench.core.reading import attempt_facts
from openrebench.harness.accounts import Accounts, ModelAccount, write_accounts
from openrebench.isolation.local import LocalRunner
from openrebench.watch import Reader, row_of
from openrebench.watch_table import frame

Make = Callable[..., Attempt]


@pytest.fixture
def make(attempts: Path, runner: LocalRunner) -> Make:
    """Make an agent's attempt with one score of 41 points."""

    def run(environment: str = "guess_number", submission: str = "NUMBER = 1\n") -> Attempt:
        found = load_environment(environment)
        attempt = Attempt.create(
            attempts,
            found,
            runner,
            profile="small",
            solver=Solver(kind="agent", name="modular", model="openai/gpt-5"),
            time_budget_s=1800.0,
            facts=attempt_facts(found.card, "small"),
        )
        attempt.workspace.mkdir()
        (attempt.workspace / "solution.py").write_text(submission)
        attempt.score(attempt.workspace, lambda: 12.0)
        return attempt

    return run


def drawn(root: Path, width: int = 80, most: int | None = None) -> str:
    console = Console(width=width, file=io.StringIO())
    console.print(frame(root, Reader().rows(root), most))
    return console.file.getvalue()


def test_a_running_attempt_shows_time_money_and_score(make: Make, attempts: Path) -> None:
    attempt = make()
    model = ModelAccount(calls=3, cost_usd=1.25)
    write_accounts(attempt.folder, Accounts(working_s=600, models={"openai/gpt-5": model}))
    row = row_of(attempt.folder)
    assert (row["state"], row["raw"], row["used_s"], row["left_s"]) == ("running", 41.0, 600, 1200)
    assert (row["cost_usd"], row["cost_is_known"]) == (1.25, True)
    text = drawn(attempts)
    for part in ("running", "41 points", "20m00s", "$1.25", "0s ago", "1 at work"):
        assert part in text
    attempt.close()


def test_a_cost_with_an_unpriced_model_is_a_lower_bound(make: Make, attempts: Path) -> None:
    attempt = make()
    models = {"a": ModelAccount(cost_usd=1.0), "b": ModelAccount(cost_usd=None)}
    write_accounts(attempt.folder, Accounts(models=models))
    attempt.close()
    assert row_of(attempt.folder)["cost_is_known"] is False and "> $1.00" in drawn(attempts)


def test_a_runner_that_died_is_shown_as_dead(make: Make) -> None:
    attempt = make()
    attempt.close()  # lets go of the lock, as the kernel does for a killed process
    assert row_of(attempt.folder)["state"] == "dead"


def test_a_runner_that_hangs_is_shown_as_silent(make: Make) -> None:
    attempt = make()
    long_ago = datetime.now(UTC) - timedelta(minutes=5)
    write_accounts(attempt.folder, Accounts(updated_at=long_ago, working_s=5))
    assert row_of(attempt.folder)["state"] == "silent"
    attempt.close()


def test_an_attempt_that_ended_says_how(make: Make, attempts: Path) -> None:
    attempt = make()
    attempt.end("budget", Usage(working_s=1800.0, cost_usd=2.0))
    row = row_of(attempt.folder)
    assert (row["state"], row["left_s"], row["cost_usd"]) == ("budget", 0.0, 2.0)


def test_those_at_work_come_first(make: Make, attempts: Path) -> None:
    running = make()
    for _ in range(3):
        make().end("submitted", Usage())
    rows = Reader().rows(attempts)
    assert rows[0]["attempt"] == running.record.id
    assert [row["state"] for row in rows[1:]] == ["submitted"] * 3
    assert "... and 2 more" in drawn(attempts, most=2)
    running.close()


def test_damaged_foreign_and_missing_folders_are_no_end(make: Make, attempts: Path) -> None:
    assert Reader().rows(attempts) == []
    foreign, damaged = make(), make()
    for attempt in (foreign, damaged):
        attempt.close()
    record = json.loads((foreign.folder / "attempt.json").read_text())
    (foreign.folder / "attempt.json").write_text(json.dumps(record | {"environment": "theirs"}))
    (damaged.folder / "score_log.jsonl").write_text("{}\n")
    states = {row["folder"]: row for row in Reader().rows(attempts)}
    assert states[str(damaged.folder)]["state"] == "damaged"
    assert "score_log.jsonl line 1" in states[str(damaged.folder)]["note"]
    assert states[str(foreign.folder)]["best"] == "unknown environment"
    text = drawn(attempts, width=200)
    assert "unknown environment" in text and "score_log.jsonl line 1" in text


def test_scores_that_a_solver_may_not_know_are_hidden_while_it_works(
    attempts: Path, runner: LocalRunner
) -> None:
    found = load_environment("scaling_law")
    attempt = Attempt.create(
        attempts,
        found,
        runner,
        profile="small",
        solver=Solver(kind="human", name="human"),
        time_budget_s=60.0,
        facts=attempt_facts(found.card, "small"),
    )
    row = row_of(attempt.folder)
    assert (row["best"], row["raw"]) == ("hidden", None)
    attempt.end("submitted", Usage())
    assert row_of(attempt.folder)["best"] == "none valid"


def test_what_rests_is_read_once_and_again_when_it_goes_on(
    make: Make, attempts: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    attempt = make()
    attempt.end("interrupted", Usage())
    reader, read = Reader(), []
    monkeypatch.setattr(watch, "row_of", lambda folder: read.append(folder) or row_of(folder))
    assert [row["state"] for _ in range(3) for row in reader.rows(attempts)] == ["interrupted"] * 3
    assert len(read) == 1
    again = Attempt(attempt.folder, attempt.environment, attempt.runner)
    again.resume(12.0)
    assert [row["state"] for row in reader.rows(attempts)] == ["running"]
    again.close()
    assert [row["state"] for row in reader.rows(attempts)] == ["dead"]


def test_one_frame_on_the_command_line(make: Make, attempts: Path) -> None:
    make().end("submitted", Usage())
    command = [sys.executable, "-m", "openrebench", "watch", str(attempts), "--once"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert "submitted" in done.stdout and "--transcripts" in done.stdout
