"""kill -9 of the runner: every score that was told to the solver is in the log."""

import json
import subprocess
import sys
import time
from pathlib import Path

from openrebench.core.attempt import find_attempts, read_attempt
from openrebench.core.score_log import verify

MOMENTS = 20
STRAY = "sleep 86399"

# Imports once (an empty task makes Inspect do the rest) and forks for each run: a real runner
# process, killed at a random moment after it began, or after it told its first score.
RUNNERS = """
import os, random, signal, sys, time
from pathlib import Path
from inspect_ai import Task, eval
from openrebench.harness.run import run_attempts

root, numbers = Path(sys.argv[1]), sys.argv[2:]
eval(Task(solver=[]), model="none/none", display="none", log_dir=f"{root}/first{numbers[0]}")
rng = random.Random(numbers[0])
for number in numbers:
    folder = root / number
    folder.mkdir()
    runner = os.fork()
    if runner == 0:
        args = {"steps": str(root / "steps.json"), "acknowledge": str(folder / "told.jsonl")}
        run_attempts(["guess_number"], agent="scripted", agent_args=args, time_limit_s=60,
                     root=folder / "attempts")
        os._exit(0)
    awaited = "attempts/*/attempt.json" if int(number) % 4 == 0 else "told.jsonl"
    deadline = time.monotonic() + 60
    while not list(folder.glob(awaited)) and time.monotonic() < deadline:
        time.sleep(0.002)
    time.sleep(rng.uniform(0, 1))
    os.kill(runner, signal.SIGKILL)
    os.waitpid(runner, 0)
"""


def test_what_was_acknowledged_is_in_the_log(tmp_path: Path) -> None:
    background = {"do": "run", "command": f"{STRAY} > /dev/null 2>&1 & true"}
    steps = [background, {"do": "score", "times": 10_000}]
    (tmp_path / "steps.json").write_text(json.dumps(steps))
    halves = [start_runners(tmp_path, range(first, MOMENTS, 2)) for first in (0, 1)]
    assert [half.wait(timeout=280) for half in halves] == [0, 0]
    told = sum(check_run(tmp_path / str(number)) for number in range(MOMENTS))
    assert told > MOMENTS  # the moments were not all before the first score
    assert_nothing_runs()


def start_runners(root: Path, numbers: range) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-c", RUNNERS, str(root), *map(str, numbers)]
    return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def check_run(folder: Path) -> int:
    """Check one killed run; gives how many scores were acknowledged in it."""
    path = folder / "told.jsonl"
    lines = path.read_text().splitlines(keepends=True) if path.exists() else []
    told = [json.loads(line)["anchor"] for line in lines if line.endswith("\n")]
    attempts = [read_attempt(found) for found in find_attempts(folder / "attempts")]
    assert len(attempts) <= 1 and (attempts or not told)
    for attempt in attempts:
        assert not attempt.running and attempt.record.ended is None
        assert verify(attempt.entries, told) == []
        assert told == [entry.hash for entry in attempt.entries[1 : len(told) + 1]]
        assert len(attempt.entries) - 1 - len(told) <= 1
    return len(told)


def assert_nothing_runs() -> None:
    for _ in range(40):
        listed = subprocess.run(["ps", "ax", "-o", "args"], capture_output=True, text=True)
        if STRAY not in listed.stdout:
            return
        time.sleep(0.05)
    raise AssertionError("a process of a killed run is still there")
