"""Inspect's own command line, and interrupts."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from inspect_ai.log import read_eval_log

from openrebench.core.attempt import find_attempts, read_attempt
from openrebench.core.score_log import verify
from openrebench.harness.transcripts import TRANSCRIPT, anchors_in

RUN = """
import signal
signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored below a shell's `&`
from pathlib import Path; import sys
from openrebench.harness.run import run_attempts
try:
    run_attempts(["guess_number"], agent="scripted", agent_args={"steps": sys.argv[1]},
                 time_limit_s=60, attempts=2, root=Path(sys.argv[2]))
except KeyboardInterrupt:
    print("interrupted")
"""


def inspect_eval(*arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "inspect_ai", "eval", *arguments, "--display=plain"]
    return subprocess.run(command, cwd=cwd, capture_output=True, text=True, timeout=60, check=False)


def test_inspect_eval_finds_the_task(tmp_path: Path) -> None:
    script = tmp_path / "script.yaml"
    script.write_text("- {tool: score}\n")
    done = inspect_eval(
        "openrebench/guess_number",
        *("--model", "scripted/x", "-M", f"script={script}"),
        *("-T", "budget=30m", "-T", "profile=small"),
        cwd=tmp_path,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    (folder,) = find_attempts(tmp_path / "attempts")
    attempt = read_attempt(folder)
    assert attempt.record.ended == "submitted" and len(attempt.entries) == 2
    assert attempt.record.time_budget_s == 1800


def test_a_local_sandbox_is_refused_in_one_sentence(tmp_path: Path) -> None:
    done = inspect_eval(
        "openrebench/guess_number", "--model", "none/none", "--sandbox", "local", cwd=tmp_path
    )
    said = " ".join((done.stdout + done.stderr).split())
    assert said.count("Sample error") == 1
    assert "run only in its own sandbox, which hides the host from the agent" in said
    assert not (tmp_path / "attempts").exists()


def test_an_interrupt_ends_attempts_and_keeps_their_scores(tmp_path: Path) -> None:
    steps = tmp_path / "steps.json"
    sleeper = {"do": "run", "command": "sleep 4321 & sleep 4321"}
    steps.write_text(json.dumps([{"do": "score"}, sleeper]))
    command = [sys.executable, "-c", RUN, str(steps), str(tmp_path / "attempts")]
    runner = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=tmp_path)
    wait_for_scores(tmp_path / "attempts", 2)
    started = time.monotonic()
    runner.send_signal(signal.SIGINT)
    said, _ = runner.communicate(timeout=90)
    assert said == "interrupted\n" and time.monotonic() - started < 15
    (folder,) = find_attempts(tmp_path / "attempts")
    attempt = read_attempt(folder)
    (sample,) = read_eval_log(str(folder / TRANSCRIPT)).samples or []
    assert attempt.record.ended == "interrupted" and not attempt.running, sample.error
    assert len(attempt.entries) == 2
    assert verify(attempt.entries, anchors_in(folder / TRANSCRIPT)) == []
    assert "sleep 4321" not in processes()


def wait_for_scores(root: Path, count: int) -> None:
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        for log in root.glob("*/score_log.jsonl"):
            if log.read_bytes().count(b"\n") >= count:
                time.sleep(0.3)
                return
        time.sleep(0.05)
    pytest.fail("no scores appeared")


def processes() -> str:
    listed = subprocess.run(["ps", "ax", "-o", "args"], capture_output=True, text=True, check=True)
    return listed.stdout


def test_agents_and_model_are_registered() -> None:
    code = (
        "from inspect_ai._util.entrypoints import ensure_entry_points; ensure_entry_points();"
        "from inspect_ai._util.registry import registry_lookup as find;"
        "print(all(find(*x) for x in [('agent', 'openrebench/literal_search'),"
        "('agent', 'openrebench/scripted'), ('task', 'openrebench/prefix_sum'),"
        "('sandboxenv', 'openrebench/openrebench'), ('modelapi', 'openrebench/scripted')]))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env=dict(os.environ)
    )
    assert done.stdout.strip() == "True", done.stderr
