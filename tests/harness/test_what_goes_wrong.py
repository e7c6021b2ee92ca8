"""Whatever goes wrong, an attempt ends with its best score and the host is clean.

Each test is a row of the table in docs/running.md.
"""

import json
import os
import signal
import subprocess
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from openrebench.core.attempt import StoredAttempt, find_attempts, read_attempt
from openrebench.core.score_log import verify
from openrebench.harness import disk, live
from openrebench.harness.accounts import read_accounts
from openrebench.harness.budget import Fuses
from openrebench.harness.run import run_attempts
from openrebench.harness.transcripts import anchors_in

pytestmark = pytest.mark.usefixtures("left_behind", "odd")

Play = Callable[..., tuple[StoredAttempt, Path]]
GOOD = {"do": "write", "path": "solution.py", "content": "NUMBER = 40\n"}
SCORE, WAIT = {"do": "score"}, {"do": "wait", "seconds": 30}
BEST = [41.0, 2.0]


def shell(command: str, **options: Any) -> dict[str, Any]:
    return {"do": "run", "command": command, **options}


def ended_with_its_best(attempt: StoredAttempt, ended: str, raws: list[float] = BEST) -> None:
    """The attempt ended as said, its log is whole, and nothing of it is held."""
    assert attempt.record.ended == ended
    assert [entry.raw for entry in attempt.entries] == raws
    assert verify(attempt.entries, anchors_in(attempt.folder / "transcript.eval")) == []
    assert not attempt.running and live.all_open() == []
    assert read_accounts(attempt.folder) is not None


def with_odd_model(tmp_path: Path, name: str, **options: Any) -> StoredAttempt:
    chosen = {"time_limit_s": 2, "root": tmp_path / "attempts", "agent": "react", **options}
    (folder,) = run_attempts(["guess_number"], model=f"odd/{name}", **chosen)
    return read_attempt(folder)


def test_working_time_is_up(play: Play) -> None:
    attempt, _ = play([GOOD, SCORE, WAIT], time_limit_s=2)
    ended_with_its_best(attempt, "budget")
    assert 2.0 <= attempt.record.usage.working_s < 3.0


def test_the_wall_fuse(play: Play) -> None:
    attempt, _ = play([GOOD, SCORE, WAIT], fuses=Fuses(max_wall_s=2))
    ended_with_its_best(attempt, "budget")


def test_the_token_fuse(tmp_path: Path) -> None:
    attempt = with_odd_model(tmp_path, "nothing", time_limit_s=60, fuses=Fuses(max_tokens=40))
    ended_with_its_best(attempt, "budget", [41.0])
    usage = attempt.record.usage
    assert usage.model_calls == 3 and usage.input_tokens == 30 and usage.output_tokens == 15


def test_the_money_fuse(tmp_path: Path) -> None:
    from openrebench.harness.plan import Plan
    from openrebench.harness.prices import Price
    from openrebench.harness.run import run_plan

    plan = Plan.make(
        ["guess_number"],
        ["react"],
        ["odd/nothing"],
        1,
        profile="small",
        time_limit_s=60,
        fuses=Fuses(max_cost_usd=1.0),
        prices={"odd/nothing": Price(10_000.0, 50_000.0, 0.0, 0.0)},
    )
    (folder,) = run_plan(plan, tmp_path / "attempts").folders
    attempt = read_attempt(folder)
    ended_with_its_best(attempt, "budget", [41.0])
    assert attempt.record.usage.cost_usd == pytest.approx(3 * 0.35)


def test_the_disk_fuse(play: Play) -> None:
    fill = shell("for i in $(seq 100); do head -c 10000000 /dev/zero > fill$i; sleep .02; done")
    attempt, _ = play([GOOD, SCORE, fill, WAIT], fuses=Fuses(max_disk_bytes=100_000_000))
    ended_with_its_best(attempt, "budget")
    assert disk.folder_bytes(attempt.folder / "workspace") < 1_000_000_000
    assert attempt.record.usage.wall_s < 20


def test_the_hosts_disk_is_nearly_full(play: Play, monkeypatch: pytest.MonkeyPatch) -> None:
    facts = (10**6, 10**6, 10**9, 40, 40, 9, 9, 9, 0, 255)  # 40 MB are free
    monkeypatch.setattr(disk, "RESERVE_BYTES", 50_000_000)
    monkeypatch.setattr(disk.os, "statvfs", lambda _: os.statvfs_result(facts))
    fill = shell("head -c 100000000 /dev/zero > fill")
    attempt, _ = play([GOOD, SCORE, fill, WAIT], time_limit_s=20)
    ended_with_its_best(attempt, "budget")
    assert attempt.record.usage.working_s < 10


def test_a_scaffold_that_raises(play: Play) -> None:
    attempt, _ = play([GOOD, SCORE, {"do": "fail"}, SCORE])
    ended_with_its_best(attempt, "error")


def test_a_model_that_fails(tmp_path: Path) -> None:
    ended_with_its_best(with_odd_model(tmp_path, "down"), "error", [41.0])


def test_a_model_that_never_answers(tmp_path: Path) -> None:
    ended_with_its_best(with_odd_model(tmp_path, "silent"), "budget", [41.0])


def test_a_model_that_answers_garbage(tmp_path: Path) -> None:
    attempt = with_odd_model(tmp_path, "garbage")
    ended_with_its_best(attempt, "submitted", [41.0])  # react gives up on it
    assert (attempt.record.usage.model_calls or 0) > 1


def test_a_model_that_answers_nothing(tmp_path: Path) -> None:
    attempt = with_odd_model(tmp_path, "nothing")
    ended_with_its_best(attempt, "submitted", [41.0])  # react gives up on it
    assert (attempt.record.usage.model_calls or 0) > 1


def test_tool_calls_with_wrong_arguments(tmp_path: Path) -> None:
    ended_with_its_best(with_odd_model(tmp_path, "wrong_arguments"), "budget", [41.0])


def test_an_agent_that_kills_all_it_can_reach(play: Play) -> None:
    kill = shell("kill -9 -1; for p in /proc/[0-9]*; do kill -9 ${p#/proc/}; done; kill -9 $PPID 1")
    attempt, _ = play([GOOD, SCORE, kill, kill, GOOD, SCORE])
    ended_with_its_best(attempt, "submitted", [41.0, 2.0, 2.0])


def test_an_agent_that_fills_its_private_folders(play: Play) -> None:
    fill = shell("cat /dev/zero > /tmp/fill; cat /dev/zero > ~/fill; cat /dev/zero > /dev/shm/fill")
    attempt, _ = play([GOOD, SCORE, fill, SCORE])
    ended_with_its_best(attempt, "submitted", [41.0, 2.0, 2.0])


def test_a_hundred_background_jobs(play: Play) -> None:
    jobs = shell(
        "for i in $(seq 100); do setsid nohup sh -c 'while :; do sleep 1; done' >/dev/null 2>&1 & "
        "done; ls /proc | grep -c '^[0-9]' > count; true"
    )
    attempt, _ = play([GOOD, SCORE, jobs, SCORE])
    ended_with_its_best(attempt, "submitted", [41.0, 2.0, 2.0])
    assert int((attempt.folder / "workspace" / "count").read_text()) > 100


def test_a_fork_bomb(play: Play) -> None:
    bomb = shell("bash -c ':(){ :|:& };:' > /dev/null 2>&1 & sleep 0.3", timeout_s=30)
    attempt, _ = play([GOOD, SCORE, bomb, shell("echo on > on"), SCORE])
    ended_with_its_best(attempt, "submitted", [41.0, 2.0, 2.0])


def test_memory_runs_out(play: Play) -> None:
    code = "x = bytearray(3 << 30)\nfor i in range(0, 3 << 30, 4096): x[i] = 1"
    attempt, _ = play([GOOD, SCORE, shell(f"python -c '{code}'"), SCORE])
    ended_with_its_best(attempt, "submitted", [41.0, 2.0, 2.0])


def test_an_agent_that_floods_its_output(play: Play) -> None:
    flood = shell("head -c 200000000 /dev/zero | tr '\\0' 'x'")
    attempt, _ = play([GOOD, SCORE, flood, SCORE])
    ended_with_its_best(attempt, "submitted", [41.0, 2.0, 2.0])
    assert (attempt.folder / "transcript.eval").stat().st_size < 50_000_000


def test_an_agent_that_removes_its_workspace(play: Play) -> None:
    steps = [GOOD, SCORE, shell("rm -rf /workspace/* /workspace/.[!.]*; chmod 0 /workspace"), SCORE]
    attempt, _ = play(steps)
    assert attempt.record.ended == "submitted" and attempt.entries[2].outcome == "invalid"
    assert [entry.raw for entry in attempt.entries] == [41.0, 2.0, None]


def test_a_score_call_longer_than_the_budget(tmp_path: Path) -> None:
    (folder,) = run_attempts(
        ["guess_number"],
        agent="literal_search",
        profile="slow",
        time_limit_s=1,
        root=tmp_path / "attempts",
    )
    attempt = read_attempt(folder)
    ended_with_its_best(attempt, "submitted", [41.0])
    assert attempt.record.usage.working_s < 1.0


def test_a_back_off_gives_no_free_compute(tmp_path: Path) -> None:
    """The provider refuses a call: the clock stands, and so does the work in the background."""
    ticks: list[int] = []
    watcher = threading.Thread(target=watch_ticks, args=(tmp_path, ticks))
    watcher.start()
    attempt = with_odd_model(tmp_path, "busy", time_limit_s=30)
    watcher.join()
    ended_with_its_best(attempt, "submitted", [41.0])
    usage = attempt.record.usage
    assert usage.wall_s > 2.5 and usage.working_s < usage.wall_s - 1.5
    assert len(ticks) > 2 and max(ticks) <= 2  # it ticks about 40 times in the time of one


def watch_ticks(tmp_path: Path, ticks: list[int]) -> None:
    """Start a job in the agent's sandbox and count how often it ticked while the clock stood."""
    while not (attempts := live.all_open()) or attempts[0].box._running is None:
        time.sleep(0.01)
    (attempt,) = attempts
    attempt.box._running.channel.ask(
        {
            "op": "exec",
            "argv": ["sh", "-c", "while :; do echo >> ticks; sleep 0.02; done"],
            "cwd": None,
            "env": {},
            "timeout_s": None,
            "limit": 0,
            "has_stdin": False,
        }
    )
    path = attempt.attempt.workspace / "ticks"
    while live.all_open():
        used_s, before = attempt.clock.used_s(), _lines(path)
        time.sleep(0.2)
        if attempt.clock.used_s() - used_s < 0.01 and live.all_open():
            ticks.append(_lines(path) - before)


def _lines(path: Path) -> int:
    return path.read_text().count("\n") if path.exists() else 0


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=lambda n: n.name)
def test_asked_to_stop(
    tmp_path: Path, own_process: list[str], left_behind: set[int], number: signal.Signals
) -> None:
    steps, root = tmp_path / "steps.json", tmp_path / "attempts"
    steps.write_text(json.dumps([GOOD, SCORE, shell("sleep 4321 & sleep 4321")]))
    command = [*own_process, "run", "guess_number", "--agent", "scripted"]
    options = ["--agent-arg", f"steps={steps}", "--attempts-dir", str(root), "--attempts", "2"]
    runner = subprocess.Popen([*command, *options], stderr=subprocess.PIPE, text=True)
    left_behind.add(runner.pid)
    while not any(log.read_bytes().count(b"\n") > 1 for log in root.glob("*/score_log.jsonl")):
        assert runner.poll() is None
        time.sleep(0.05)
    time.sleep(0.2)
    runner.send_signal(number)
    _, said = runner.communicate(timeout=60)
    assert runner.returncode == 130 and f"go on with: re-bench run --resume {root}" in said
    (folder,) = find_attempts(root)
    ended_with_its_best(read_attempt(folder), "interrupted")
