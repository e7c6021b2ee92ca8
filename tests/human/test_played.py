"""A person's attempt, played from the first key to the forced end by a terminal driver."""

import json
import subprocess
from pathlib import Path

import pytest

from openrebench.analysis.folders import read_folders
from openrebench.core.attempt import read_attempt
from openrebench.core.catalog import PATH_VARIABLE
from openrebench.core.verifying import verify_attempt

from .conftest import RE_BENCH, Play, events, only

COUNTING = (
    "(trap '' HUP; while :; do n=$((n+1)); echo $n > /workspace/count; sleep 0.01; done) "
    "> /dev/null 2>&1 & disown"
)


def re_bench(*arguments: str) -> str:
    return subprocess.run([RE_BENCH, *arguments], capture_output=True, text=True, check=True).stdout


@pytest.fixture
def played(play: Play, reduced_sum: Path, attempts: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An attempt at reduced_sum: two scores, a pause, a third score, and the end of the time."""
    monkeypatch.setenv(PATH_VARIABLE, str(reduced_sum))
    person = play(
        *("start", "reduced_sum", "--time-limit", "16s", "-o", str(attempts)),
        *("--record", "--person", "p-7", "--expert", "yes"),
        environments=reduced_sum,
    )
    person.sit_down()
    assert "scored: " in person.type("score")
    person.type(COUNTING)
    person.process.sendline("pause a walk in the park")
    person.see("Enter goes on")
    check_pause(attempts)
    person.process.send("\r")
    person.see("going on; ")
    person.type("echo 'def prefix_sum(x): return x' > solution.py")
    assert "invalid (wrong_output)" in person.type("score")
    assert "#2 at" in person.type("log")
    person.process.sendline("sleep 1000")
    person.see("ended [(]budget[)]")
    person.end()
    return only(attempts)


def check_pause(attempts: Path) -> None:
    """Nothing runs, and whoever watches can see why."""
    folder = only(attempts)
    before = (folder / "workspace" / "count").read_text()
    (row,) = json.loads(re_bench("watch", str(attempts), "--json"))
    assert (row["state"], row["score_calls"], row["solver"]) == ("paused", 2, "p-7")
    assert "a walk in the park" in re_bench("human", "status", str(folder))
    assert (folder / "workspace" / "count").read_text() == before  # no free compute


def test_an_attempt_with_scores_a_pause_and_a_forced_end(played: Path) -> None:
    check_folder(played)
    assert "as they were written" in re_bench("verify", str(played))
    table = read_folders([played])
    (row,) = table.attempts.to_dicts()
    assert (row["kind"], row["solver"], row["ended"]) == ("human", "human", "budget")
    assert table.entries.height == 3
    (row,) = json.loads(re_bench("watch", str(played.parent), "--json"))
    assert (row["state"], row["left_s"]) == ("budget", 0.0)


@pytest.mark.slow
def test_report_and_rescore_take_a_person_s_attempt(played: Path, tmp_path: Path) -> None:
    re_bench("anchors", "reduced_sum", "--runs", "5")
    again = json.loads(re_bench("rescore", str(played), "--json"))
    assert again["official_raw"] > 0
    re_bench("report", str(played.parent), "-o", str(tmp_path / "report"))
    page = (tmp_path / "report" / "index.html").read_text()
    assert "1 attempts at 1 environments by 1 solvers; 1 count" in page


def check_folder(folder: Path) -> None:
    attempt = read_attempt(folder)
    record = attempt.record
    assert [entry.outcome for entry in attempt.entries] == ["scored", "scored", "invalid"]
    assert record.ended == "budget" and not attempt.running
    assert (record.solver.kind, record.solver.name) == ("human", "p-7")
    assert record.solver.settings == {"expert": True, "record": True}
    assert 16 <= record.usage.working_s < record.usage.wall_s
    assert verify_attempt(attempt) == []
    started, paused, back, ended = events(folder)
    assert paused["reason"] == "a walk in the park" and back["used_s"] == paused["used_s"]
    assert [row["event"] for row in (started, ended)] == ["started", "ended"]
    shown = "".join(line[2] for line in recorded(folder)[1:] if line[1] == "o")
    assert "invalid (wrong_output)" in shown


def recorded(folder: Path) -> list[list[str]]:
    (file,) = (folder / "recordings").iterdir()
    return [json.loads(line) for line in file.read_text().splitlines()]
