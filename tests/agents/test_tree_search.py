"""The agent `tree_search`, in whole attempts with a scripted model."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from openrebench.agents.journal import Node
from openrebench.agents.lines import Lines
from openrebench.agents.tree_search import FILE, _Search
from openrebench.agents.trial import reaches_every_folder
from openrebench.core.card import TaskCard

Play = Callable[..., Any]
REVIEW = {"match": "was tried out", "tool": "review", "arguments": {"summary": "as expected"}}


def propose(when: str, number: int | str = "", command: str = "", **files: str) -> dict[str, Any]:
    """Answer a step by a proposal: a number for solution.py, or a command."""
    listed = [{"path": path.replace("__", "."), "content": text} for path, text in files.items()]
    if number != "":
        listed.append({"path": "solution.py", "content": f"NUMBER = {number}\n"})
    arguments = {"plan": f"idea of {when[5:]}", "files": listed, "command": command}
    return {"match": when, "tool": "propose", "arguments": arguments}


def journal(found: Any) -> list[Node]:
    return Lines(found.attempt.folder / FILE, Node).read()


def told(nodes: list[Node]) -> list[tuple[str, int, str, float | None]]:
    return [(node.kind, node.parent, node.verdict, node.raw) for node in nodes]


def search(player: Play, root: Path, *plan: dict[str, Any], **options: Any) -> Any:
    chosen = {"drafts": 2, "debug_probability": 1.0, "steps": 5, **options.pop("agent_args", {})}
    return player(root, "tree_search", [*plan, REVIEW], agent_args=chosen, **options)


def change_card(
    monkeypatch: pytest.MonkeyPatch, field: str, change: Callable[[Any], object]
) -> None:
    """Let every card that is loaded from now on differ in a field."""
    load = TaskCard.load.__func__  # type: ignore[attr-defined]

    def changed(kind: type[TaskCard], folder: Path) -> TaskCard:
        card: TaskCard = load(kind, folder)
        return card.model_copy(update={field: change(getattr(card, field))})

    monkeypatch.setattr(TaskCard, "load", classmethod(changed))


PLAN = (
    propose("Step 1: draft", 60),
    propose("Step 2: draft", 50, command="echo said; exit 3"),
    propose("Step 3: debug", command="echo 'NUMBER = 44' > solution.py"),
    propose("Step 4: improve", 42),
    propose("Step 5: improve", 43),
)


def test_it_drafts_debugs_and_improves(player: Play, tmp_path: Path) -> None:
    found = search(player, tmp_path, *PLAN)
    assert (found.ended, found.raws) == ("submitted", [41.0, 18.0, 2.0, 0.0, 1.0])
    nodes = journal(found)
    assert told(nodes) == [
        ("start", 0, "scored", 41.0),
        ("draft", 0, "scored", 18.0),
        ("draft", 0, "failed", None),
        ("debug", 2, "scored", 2.0),
        ("improve", 3, "scored", 0.0),
        ("improve", 4, "scored", 1.0),
    ]
    assert nodes[2].output == "said\n[exit code 3]" and nodes[1].summary == "as expected"
    assert {entry.submission for entry in found.attempt.entries} == {
        node.submission for node in nodes if node.works
    }
    workspace = found.attempt.folder / "workspace"
    assert (workspace / "solution.py").read_text() == "NUMBER = 42\n"
    kept = {path.name for path in (workspace / ".tree_search").iterdir()}
    assert kept == {"0", "4"}  # the start, and what could still be improved


def test_what_a_step_is_shown(player: Play, tmp_path: Path) -> None:
    asked = search(player, tmp_path, *PLAN).asked()
    steps = {text.partition("Step ")[2][:1]: text for text in asked if "# Your step" in text}
    assert "NUMBER = 1" in steps["1"] and "(none yet)" in steps["1"]
    assert "idea of 1: draft\nResult: scored: 18.0 points" in steps["2"]
    assert "NUMBER = 50" in steps["3"] and "What it printed:\nsaid" in steps["3"]
    assert "Earlier" in steps["3"] and "idea of 1: draft" not in steps["3"]
    assert "left of 1m" in steps["4"] and "best 2.0 points" in steps["4"]
    assert "NUMBER = 42" in steps["5"]


def test_a_command_can_not_outlive_its_step(player: Play, tmp_path: Path) -> None:
    slow = propose("Step 1", 60, command="sleep 1000 & sleep 1001")
    left = propose("Step 2", 50, command="(sleep 1002; echo) & true")
    look = propose("Step 3", 44, command="ps ax -o args | grep -v grep | grep 'sleep 100'; true")
    options = {"drafts": 3, "steps": 3, "command_minutes": 0.02}
    nodes = journal(search(player, tmp_path, slow, left, look, agent_args=options))
    assert [node.verdict for node in nodes[1:]] == ["failed", "scored", "scored"]
    assert "stopped after 1 s" in nodes[1].output and nodes[3].output == ""


def test_solutions_do_not_see_each_other(player: Play, tmp_path: Path) -> None:
    first = propose("Step 1", 60, helper__py="x = 1\n", sub="y")
    second = propose("Step 2", 50, command="ls; cat helper.py")
    found = search(player, tmp_path, first, second, agent_args={"steps": 2})
    assert told(journal(found))[2] == ("draft", 0, "failed", None)
    assert not (found.attempt.folder / "workspace" / "helper.py").exists() or found.raws[-1] == 18.0


def test_several_are_in_flight(player: Play, tmp_path: Path) -> None:
    both = "touch ../$1; for k in $(seq 100); do [ -e ../$2 ] && exit 0; sleep 0.05; done; exit 1"
    plan = [
        propose("Step 1", 60, command=f"set -- a b; {both}"),
        propose("Step 2", 50, command=f"set -- b a; {both}"),
    ]
    found = search(player, tmp_path, *plan, agent_args={"parallel": 2, "steps": 2})
    assert sorted(node.verdict for node in journal(found)) == ["scored"] * 3
    assert sorted(found.raws) == [8.0, 18.0, 41.0]


def test_each_in_flight_has_its_device(
    player: Play, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With two pretended GPUs: this machine need not have any."""
    monkeypatch.setattr(_Search, "_devices", lambda self: 2)
    tell = "echo $CUDA_VISIBLE_DEVICES; touch ../$CUDA_VISIBLE_DEVICES.on; sleep 1; ls ../*.on"
    plan = [propose(f"Step {k}", 50, command=tell) for k in (1, 2)]
    nodes = journal(search(player, tmp_path, *plan, agent_args={"steps": 2}))
    assert sorted(node.output.split()[0] for node in nodes[1:]) == ["0", "1"]
    assert all(node.output.count(".on") == 2 for node in nodes[1:])


@pytest.mark.parametrize("parallel", [1, 3])
def test_tokens_end_it(player: Play, tmp_path: Path, parallel: int) -> None:
    plan = [propose("Step", 40)]
    options = {"parallel": parallel, "steps": 0}
    found = search(player, tmp_path, *plan, agent_args=options, limits={"token_limit": 200})
    assert found.ended == "budget" and min(raw for raw in found.raws if raw) == 2.0


@pytest.mark.parametrize(
    "answer",
    [
        {"text": ""},
        {"text": "Let me think."},
        {"tool": "propose", "arguments": "{not JSON"},
        {"tool": "propose", "arguments": {"plan": 3}},
        {"tool": "no_such_tool"},
    ],
    ids=lambda answer: str(answer)[:40],
)
def test_a_model_that_proposes_nothing(
    player: Play, tmp_path: Path, answer: dict[str, Any]
) -> None:
    good = propose("Step 1: draft", 40)
    found = search(player, tmp_path, good, {"match": "Step", **answer}, agent_args={"steps": 0})
    assert (found.ended, found.raws) == ("submitted", [41.0, 2.0])
    assert [node.verdict for node in journal(found)] == ["scored", "scored", *["nothing"] * 5]
    assert (found.attempt.folder / "workspace/solution.py").read_text() == "NUMBER = 40\n"


def test_files_that_can_not_be_written_are_a_failed_step(player: Play, tmp_path: Path) -> None:
    bad = propose("Step 1", 3, **{"solution.py/x": "y"})
    worse = propose("Step 2", 1, command="rm -rf /workspace/.tree_search /workspace/* ; true")
    full = propose("Step 3", 1, command="head -c 99G /dev/zero > $TMPDIR/a")
    plan = (bad, worse, full, propose("Step 4", 40))
    found = search(player, tmp_path, *plan, agent_args={"steps": 4, "drafts": 4})
    nodes = journal(found)
    assert [node.verdict for node in nodes] == ["scored", "failed", "invalid", "failed", "scored"]
    assert "solution.py/x can't be written" in nodes[1].output
    assert (found.ended, found.raws) == ("submitted", [41.0, None, 2.0])


def test_greedy_patterns_do_not_take_its_folders_for_submissions(
    player: Play, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    change_card(monkeypatch, "submission", lambda patterns: ("**/*.py",))
    found = search(player, tmp_path, *PLAN)
    assert (found.ended, found.raws) == ("submitted", [41.0, 18.0, 2.0, 0.0, 1.0])
    files = {path.name for path in (found.attempt.folder / "submissions").glob("*/**/*.py")}
    assert files == {"solution.py", "environment.py"}
    assert not (found.attempt.folder / "workspace" / ".tree_search").exists()


SERVE = """
import os, socket
os.chdir("/workspace")
listener = socket.socket(socket.AF_UNIX)
listener.bind("a.sock")
listener.listen()
listener.accept()[0].send(b"hello")
"""
ASK = """
import socket
client = socket.socket(socket.AF_UNIX)
client.connect("a.sock")
print(client.recv(9).decode())
"""


def test_where_the_last_score_counts_the_best_is_scored_again(
    player: Play, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    change_card(monkeypatch, "score", lambda score: score.model_copy(update={"counts": "last"}))
    found = search(player, tmp_path, *PLAN)
    assert (found.ended, found.raws) == ("submitted", [41.0, 18.0, 2.0, 0.0, 1.0, 0.0])


def test_where_scores_are_hidden_it_is_not_told_any(
    player: Play, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    change_card(monkeypatch, "score", lambda score: score.model_copy(update={"visible": False}))
    found = search(player, tmp_path, *PLAN)
    assert found.ended == "submitted" and {node.raw for node in journal(found)} == {None}
    told = [line for text in found.asked() for line in text.splitlines() if "Result:" in line]
    assert told and not any("points" in line for line in told)
    assert (found.attempt.folder / "workspace" / "solution.py").read_text() == "NUMBER = 43\n"


def test_services_of_the_workspace_are_reached_from_a_solution(
    player: Play, tmp_path: Path
) -> None:
    """A socket stands for one of an environment's service."""
    start = "setsid python serve.txt > /dev/null 2>&1 & sleep 1; rm -rf ../0"
    first = propose("Step 1", 50, command=start, serve__txt=SERVE)
    second = propose("Step 2", 43, command="python ask.txt", ask__txt=ASK)
    nodes = journal(search(player, tmp_path, first, second, agent_args={"steps": 2}))
    assert [node.verdict for node in nodes] == ["scored"] * 3
    assert nodes[2].output == "hello"


def test_the_budget_ends_it_and_a_failing_provider_too(player: Play, tmp_path: Path) -> None:
    wait = propose("Step 2", 43, command="sleep 60")
    found = search(player, tmp_path, propose("Step 1", 40), wait, time_limit_s=3)
    assert (found.ended, found.raws) == ("budget", [41.0, 2.0])
    again = tmp_path / "again"
    again.mkdir()
    down = {"match": "Step 2", "error": "provider is down"}
    found = search(player, again, propose("Step 1", 40), down, agent_args={"parallel": 2})
    assert (found.ended, found.raws[0]) == ("error", 41.0)


def test_patterns_that_would_match_its_folders_are_found() -> None:
    assert [reaches_every_folder(p) for p in ("*.py", "src/**", "**/*.py", "*/a")] == [
        False,
        False,
        True,
        True,
    ]


RUNNER = """
import sys, json
from pathlib import Path
from openrebench.harness.run import run_attempts
from openrebench.isolation import device
root, script = Path(sys.argv[1]), sys.argv[2]
device.LOCK_FOLDER = root.parent
run_attempts(["guess_number"], agent="tree_search", model="scripted/plan",
             model_args={"script": script}, agent_args=json.loads(sys.argv[3]),
             time_limit_s=60, root=root)
"""


def test_kill_and_resume_go_on_from_the_journal(reader: Play, tmp_path: Path) -> None:
    from openrebench.core.attempt import find_attempts
    from openrebench.harness.plan import Plan
    from openrebench.harness.run import run_plan

    options = {"drafts": 2, "debug_probability": 1.0, "steps": 5}
    hang = propose("Step 4: improve", 42, command="sleep 60")
    script = tmp_path / "plan.json"
    script.write_text(json.dumps([*PLAN[:3], hang, REVIEW]))
    root = tmp_path / "attempts"
    arguments = [str(root), str(script), json.dumps(options)]
    runner = subprocess.Popen([sys.executable, "-c", RUNNER, *arguments], env=os.environ)
    folder = _wait_for_lines(root, 4)
    runner.kill()
    runner.wait()
    script.write_text(json.dumps([*PLAN, REVIEW]))
    (path,) = root.glob("plan-*.json")
    saved = Plan.model_validate_json(path.read_text())
    assert run_plan(saved, root).folders == [folder]
    assert list(find_attempts(root)) == [folder]
    found = reader(folder)
    assert (found.ended, found.raws) == ("submitted", [41.0, 18.0, 2.0, 0.0, 1.0])
    assert [node.id for node in journal(found)] == [0, 1, 2, 3, 4, 5]


def _wait_for_lines(root: Path, count: int) -> Path:
    for _ in range(600):
        for path in root.glob(f"*/{FILE}"):
            if path.read_bytes().count(b"\n") >= count:
                return path.parent
        time.sleep(0.05)
    raise AssertionError("the journal did not grow")
