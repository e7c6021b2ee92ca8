"""A run that stopped goes on where it stopped: nothing is lost, and nothing is done twice."""

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from openrebench.cli import cli
from openrebench.core.attempt import StoredAttempt, read_attempt
from openrebench.core.score_log import verify
from openrebench.errors import AttemptError, ReBenchError
from openrebench.harness.accounts import (
    BEAT_S,
    Accounts,
    ModelAccount,
    read_accounts,
    write_accounts,
)
from openrebench.harness.budget import Fuses
from openrebench.harness.plan import Plan, held, progress
from openrebench.harness.run import run_plan

pytestmark = pytest.mark.usefixtures("left_behind", "odd")

GOOD = {"do": "write", "path": "solution.py", "content": "NUMBER = 40\n"}
KEEP = {"do": "run", "command": "echo kept > kept.txt; mkdir -p deep/er; echo 1 > deep/er/file"}
LOOK = {"do": "run", "command": "cat kept.txt deep/er/file > seen.txt; echo >> kept.txt"}
SCORE = {"do": "score"}


class Runs:
    """A plan over the test environment, whose steps can change between sessions."""

    def __init__(self, folder: Path) -> None:
        self.root, self.steps = folder / "attempts", folder / "steps.json"

    def plan(self, *steps: dict[str, Any], attempts: int = 1, **settings: Any) -> Plan:
        self.set(*steps)
        chosen = {"profile": "small", "time_limit_s": 60, **settings}
        args = {"steps": str(self.steps)}
        return Plan.make(
            ["guess_number"], ["scripted"], ["none/none"], attempts, agent_args=args, **chosen
        )

    def set(self, *steps: dict[str, Any]) -> None:
        self.steps.write_text(json.dumps(steps))

    def run(self, plan: Plan) -> list[StoredAttempt]:
        return [read_attempt(folder) for folder in run_plan(plan, self.root).folders]

    def crash(self, attempt: StoredAttempt) -> None:
        """Let an attempt look as if its process had been killed."""
        record = json.loads((attempt.folder / "attempt.json").read_text())
        record |= {"ended": None, "ended_at": None}
        (attempt.folder / "attempt.json").write_text(json.dumps(record))


@pytest.fixture
def runs(tmp_path: Path) -> Runs:
    return Runs(tmp_path)


def test_log_time_and_workspace_are_kept(runs: Runs) -> None:
    plan = runs.plan(GOOD, KEEP, SCORE, {"do": "wait", "seconds": 1})
    (before,) = runs.run(plan)
    runs.crash(before)
    runs.set(LOOK, SCORE)
    (after,) = runs.run(plan)
    assert after.folder == before.folder and after.record.ended == "submitted"
    assert after.entries[:2] == before.entries and len(after.entries) == 3
    assert verify(after.entries) == []
    assert (after.folder / "workspace" / "seen.txt").read_text() == "kept\n1\n"
    (resumed,) = after.record.resumed
    assert resumed.was == "crashed"
    assert resumed.after_s == pytest.approx(before.record.usage.working_s + BEAT_S)
    assert after.entries[2].requested_at_s > resumed.after_s > 2.0
    assert after.record.usage.working_s > after.entries[2].requested_at_s
    assert (after.folder / "transcript-1.eval").exists()
    assert (after.folder / "transcript.eval").exists()
    accounts = read_accounts(after.folder)
    assert accounts is not None and (accounts.sessions, accounts.score_calls) == (2, 3)


def test_a_finished_attempt_is_never_repeated(runs: Runs) -> None:
    plan = runs.plan(GOOD, SCORE, attempts=3)
    before = runs.run(plan)
    runs.crash(before[1])
    after = runs.run(plan)
    assert [a.folder for a in after] == [b.folder for b in before]
    assert (after[0], after[2]) == (before[0], before[2])
    assert len(after[1].entries) == 3 and progress(plan, runs.root).left(plan) == []
    assert runs.run(plan) == after


def test_an_attempt_whose_time_is_used_only_ends(runs: Runs) -> None:
    plan = runs.plan(GOOD, SCORE)
    (before,) = runs.run(plan)
    runs.crash(before)
    write_accounts(before.folder, Accounts(working_s=59.5, wall_s=59.5))
    (after,) = runs.run(plan)
    assert after.record.ended == "budget" and after.entries == before.entries
    assert after.record.usage.working_s == 59.5 + BEAT_S


def test_the_rest_of_the_time_is_the_limit(runs: Runs) -> None:
    plan = runs.plan(GOOD, SCORE)
    (before,) = runs.run(plan)
    runs.crash(before)
    write_accounts(before.folder, Accounts(working_s=57.0, wall_s=57.0))
    runs.set({"do": "wait", "seconds": 30}, SCORE)
    (after,) = runs.run(plan)
    assert after.record.ended == "budget" and after.entries == before.entries
    assert 60.0 <= after.record.usage.working_s < 61.5


def test_a_crash_before_the_start_was_scored(runs: Runs) -> None:
    plan = runs.plan(GOOD, SCORE)
    (before,) = runs.run(plan)
    runs.crash(before)
    (before.folder / "score_log.jsonl").write_bytes(b'{"torn')
    (before.folder / "accounts.json").unlink()
    (before.folder / "workspace" / "left.py").write_text("half = 1")
    (after,) = runs.run(plan)
    assert [entry.raw for entry in after.entries] == [41.0, 2.0]
    assert not (after.folder / "workspace" / "left.py").exists()
    assert after.record.usage.working_s < 1.0


def test_a_torn_last_line_costs_that_entry_only(runs: Runs) -> None:
    plan = runs.plan(GOOD, SCORE, SCORE)
    (before,) = runs.run(plan)
    runs.crash(before)
    log = before.folder / "score_log.jsonl"
    log.write_bytes(log.read_bytes()[:-20])
    (before.folder / "accounts.json").write_text('{"half')
    (after,) = runs.run(plan)
    assert after.entries[:2] == before.entries[:2] and len(after.entries) == 4
    assert verify(after.entries) == []


def test_tokens_of_earlier_sessions_count(tmp_path: Path) -> None:
    plan = Plan.make(
        ["guess_number"],
        ["react"],
        ["odd/nothing"],
        1,
        profile="small",
        time_limit_s=60,
        fuses=Fuses(max_tokens=1000),
    )
    runs = Runs(tmp_path)
    plan.save(runs.root)
    (before,) = runs.run(plan)
    runs.crash(before)
    used = ModelAccount(calls=9, input_tokens=800, output_tokens=180, cost_usd=None)
    write_accounts(before.folder, Accounts(working_s=1.0, models={"odd/nothing": used}))
    (after,) = runs.run(plan)
    usage = after.record.usage
    assert after.record.ended == "budget"
    assert (usage.model_calls, usage.input_tokens, usage.output_tokens) == (11, 820, 190)
    assert usage.cost_usd is None


def test_a_resumed_agent_is_told(runs: Runs) -> None:
    from inspect_ai.log import read_eval_log

    plan = runs.plan(GOOD, SCORE)
    (before,) = runs.run(plan)
    runs.crash(before)
    write_accounts(before.folder, Accounts(working_s=20.0, wall_s=20.0))
    (after,) = runs.run(plan)
    (sample,) = read_eval_log(str(after.folder / "transcript.eval")).samples or []
    assert "were interrupted: 21s of your time are used" in str(sample.input)


@pytest.mark.parametrize(
    ("field", "value", "told"),
    [
        ("environment_version", "0.9.0", r"was begun with guess_number 0\.9\.0"),
        ("device", "another-cpu", "was begun on another-cpu"),
    ],
)
def test_what_can_not_be_compared_is_refused(runs: Runs, field: str, value: str, told: str) -> None:
    plan = runs.plan(GOOD, SCORE)
    (before,) = runs.run(plan)
    runs.crash(before)
    path = before.folder / "attempt.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {field: value}))
    with pytest.raises(ReBenchError, match=told):
        runs.run(plan)


def test_two_processes_do_not_run_one_plan(runs: Runs) -> None:
    plan = runs.plan(GOOD)
    plan.save(runs.root)
    with held(plan, runs.root), pytest.raises(AttemptError, match="another process is running"):
        runs.run(plan)


def test_resume_on_the_command_line(runs: Runs, monkeypatch: pytest.MonkeyPatch) -> None:
    runs.set(GOOD, SCORE)
    command = ["run", "guess_number", "--agent", "scripted", "--time-limit", "60s"]
    command += ["--agent-arg", f"steps={runs.steps}", "--attempts-dir", str(runs.root), "--json"]

    def called(*words: str) -> dict[str, Any]:
        done = CliRunner().invoke(cli, words, catch_exceptions=False)
        found: dict[str, Any] = json.loads(done.stdout) if done.stdout.startswith("{") else {}
        return found

    (row,) = called(*command)["attempts"]
    assert called(*command, "--resume") == {}  # nothing is left to do
    runs.crash(read_attempt(Path(row["folder"])))
    report = called("run", "--resume", str(runs.root), "--json")
    assert [r["attempt"] for r in report["attempts"]] == [row["attempt"]]
    assert report["attempts"][0]["score_calls"] == 3 and report["not_run"] == {}
    runs.crash(read_attempt(Path(row["folder"])))
    estimate = called("run", "--resume", str(runs.root), "--dry-run", "--json")
    assert estimate["total"]["attempts"] == 1
    assert called(*command, "--resume")["attempts"][0]["score_calls"] == 4


def test_resume_without_a_plan_is_one_sentence(runs: Runs) -> None:
    runs.set(GOOD)
    runs.root.mkdir()
    for words, told in (
        (["--resume", str(runs.root)], "holds no plan of re-bench run"),
        (["--resume", str(runs.root / "no")], "holds no plan of re-bench run"),
        ([], "name environments or a --suite"),
        (["--resume", str(runs.root), "--seed", "1"], "leave out --seed, or repeat the whole"),
    ):
        with pytest.raises(ReBenchError, match=told):
            CliRunner().invoke(cli, ["run", *words], catch_exceptions=False)
    plan = runs.plan(GOOD)
    plan.save(runs.root)
    with pytest.raises(ReBenchError, match="holds no plan of this command"):
        words = ["run", "guess_number", "--attempts-dir", str(runs.root), "--resume"]
        CliRunner().invoke(cli, words, catch_exceptions=False)
    plan.path(runs.root).write_text("{}")
    with pytest.raises(AttemptError, match="Field required"):
        CliRunner().invoke(cli, ["run", "--resume", str(runs.root)], catch_exceptions=False)


def test_a_suite_says_what_can_not_run(
    runs: Runs, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    from openrebench.analysis import suites

    suite = suites.Suite("mixed", "", ("guess_number", "no_such"), "")
    monkeypatch.setattr(suites, "find_suite", lambda name: suite)
    runs.set(GOOD, SCORE)
    command = ["run", "--suite", "mixed", "--agent", "scripted", "--time-limit", "60s", "--json"]
    command += ["--agent-arg", f"steps={runs.steps}", "--attempts-dir", str(runs.root)]
    done = CliRunner().invoke(cli, command, catch_exceptions=False)
    report = json.loads(done.stdout)
    assert [row["score_calls"] for row in report["attempts"]] == [2]
    assert "no environment named 'no_such'" in report["not_run"]["no_such"]
    again = CliRunner().invoke(cli, ["run", "--resume", str(runs.root)], catch_exceptions=False)
    assert "not run: no_such: no environment named 'no_such'" in again.stdout
    (row,) = report["attempts"]
    assert "has no anchors for" in row["note"] and f"note: {row['note']}" in again.stdout
    with pytest.raises(ReBenchError, match="no environment named 'no_such'"):
        CliRunner().invoke(cli, ["run", "no_such", *command[3:]], catch_exceptions=False)
