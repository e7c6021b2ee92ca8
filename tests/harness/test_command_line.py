"""Inspect's own command line, and interrupts."""

import os
import subprocess
import sys
from pathlib import Path

from openrebench.core.attempt import find_attempts, read_attempt
from openrebench.core.score_log import verify
from openrebench.harness.transcripts import anchors_in

INSPECT = """
import sys
from pathlib import Path
from openrebench.isolation import device
device.LOCK_FOLDER = Path()  # wait for no other process's scores
from inspect_ai._cli.main import main
main()
"""


def inspect_eval(*arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", INSPECT, "eval", *arguments, "--display=plain"]
    return subprocess.run(
        command, cwd=cwd, capture_output=True, text=True, timeout=200, check=False
    )


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
    assert verify(attempt.entries, anchors_in(folder / "transcript.eval")) == []
    assert "hooks enabled" not in done.stdout


def test_a_local_sandbox_is_refused_in_one_sentence(tmp_path: Path) -> None:
    done = inspect_eval(
        "openrebench/guess_number", "--model", "none/none", "--sandbox", "local", cwd=tmp_path
    )
    said = " ".join((done.stdout + done.stderr).split())
    assert said.count("Sample error") == 1
    assert "run only in its own sandbox, which hides the host from the agent" in said
    assert not (tmp_path / "attempts").exists()


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
