"""kill -9 of the runner: a plan is completed all the same, nothing lost and nothing doubled."""

import json
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from openrebench.core.attempt import StoredAttempt, find_attempts, read_attempt
from openrebench.core.score_log import verify

ATTEMPTS = 8
Pids = set[int]
STRAY = "sleep 86399"

# Imports once (an empty task makes Inspect do the rest) and forks for each session: a real runner
# process, killed at a random moment of its start, its attempts or its end.
RUNNERS = """
import os, random, signal, sys, time
from pathlib import Path
from inspect_ai import Task, eval
from openrebench.harness.plan import find_plans
from openrebench.harness.run import run_plan
from openrebench.isolation import device

root, kills = Path(sys.argv[1]), int(sys.argv[2])
device.LOCK_FOLDER = root
told = root / "told.jsonl"
told.touch()
eval(Task(solver=[]), model="none/none", display="none", log_dir=f"{root}/first")
(plan,) = find_plans(root / "attempts")
rng = random.Random(kills)
for kill in range(kills):
    before, deadline = told.stat().st_size, time.monotonic() + 60
    runner = os.fork()
    if runner == 0:
        run_plan(plan, root / "attempts")
        os._exit(0)
    while kill % 4 and told.stat().st_size == before and time.monotonic() < deadline:
        time.sleep(0.002)  # but every fourth time it may be killed before its first score
    time.sleep(rng.uniform(0, 1.2))  # with longer waits few attempts end meanwhile
    os.kill(runner, signal.SIGKILL)
    assert os.WIFSIGNALED(os.waitpid(runner, 0)[1])
    print(runner)
"""


def test_three_kills_of_a_plan(tmp_path: Path, own_process: list[str], left_behind: Pids) -> None:
    attempts = killed_and_resumed(tmp_path, own_process, left_behind, kills=3)
    assert sum(len(attempt.record.resumed) for attempt in attempts) >= 1


@pytest.mark.slow
def test_twenty_kills_of_a_plan(tmp_path: Path, own_process: list[str], left_behind: Pids) -> None:
    attempts = killed_and_resumed(tmp_path, own_process, left_behind, kills=20)
    assert sum(len(attempt.record.resumed) for attempt in attempts) >= 8


def killed_and_resumed(
    tmp_path: Path, own_process: list[str], pids: Pids, *, kills: int
) -> list[StoredAttempt]:
    """Run a plan of eight attempts, kill it again and again, and resume it."""
    plan_for(tmp_path, wait_s=0.2 if kills < ATTEMPTS else 1.0)
    command = [sys.executable, "-c", RUNNERS, str(tmp_path), str(kills)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=280)
    killed = {int(pid) for pid in done.stdout.split()}
    assert len(killed) == kills, done.stderr
    pids |= killed
    report = resume(own_process, tmp_path / "attempts")
    attempts = [read_attempt(found) for found in find_attempts(tmp_path / "attempts")]
    check(attempts, tmp_path / "told.jsonl")
    assert sorted(row["attempt"] for row in report["attempts"]) == [a.record.id for a in attempts]
    assert {row["ended"] for row in report["attempts"]} == {"submitted"}
    assert not list((tmp_path / "attempts").glob(".transcripts-*"))
    return attempts


def plan_for(tmp_path: Path, wait_s: float) -> None:
    from openrebench.harness.plan import Plan

    background = {"do": "run", "command": f"{STRAY} > /dev/null 2>&1 & true"}
    scores: list[dict[str, Any]] = [{"do": "score", "times": 3}, {"do": "wait", "seconds": wait_s}]
    (tmp_path / "steps.json").write_text(json.dumps([background, *scores, {"do": "score"}]))
    args = {"steps": str(tmp_path / "steps.json"), "acknowledge": str(tmp_path / "told.jsonl")}
    plan = Plan.make(
        ["guess_number"],
        ["scripted"],
        ["none/none"],
        ATTEMPTS,
        profile="small",
        time_limit_s=60,
        agent_args=args,
    )
    plan.save(tmp_path / "attempts")


def resume(own_process: list[str], root: Path) -> dict[str, Any]:
    command = [*own_process, "run", "--resume", str(root), "--json"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    report: dict[str, Any] = json.loads(done.stdout)
    return report


def check(attempts: list[StoredAttempt], told: Path) -> None:
    """Every attempt is there once and whole, and so is every score that was told to a solver."""
    assert sorted(attempt.record.place or 0 for attempt in attempts) == list(range(1, ATTEMPTS + 1))
    lines = told.read_text().splitlines(keepends=True)
    anchors = [json.loads(line)["anchor"] for line in lines if line.endswith("\n")]
    logged = Counter(entry.hash for attempt in attempts for entry in attempt.entries)
    assert set(anchors) <= logged.keys() and set(logged.values()) == {1}
    assert len(anchors) == len(set(anchors)) >= 4 * ATTEMPTS
    for attempt in attempts:
        assert verify(attempt.entries) == [] and not attempt.running
        assert len(attempt.entries) >= 5
        times = [entry.requested_at_s for entry in attempt.entries]
        assert times == sorted(times)
        assert attempt.record.usage.working_s >= times[-1]
        assert (attempt.folder / "transcript.eval").exists()
