"""Agents solve `prefix_sum` from its start by recorded plans; at its real size only if asked."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from openrebench.agents.plan_server import serve_plan
from openrebench.core.environment import Environment
from openrebench.core.reading import summary

Play = Callable[..., Any]
AGENTS = ("modular", "tree_search")
SOLUTION = (Path(__file__).parent / "solutions" / "fast_prefix_sum.py").read_text()
WRONG = SOLUTION.replace("total + (value", "total - (value")


def write(text: str) -> dict[str, Any]:
    code = f"open('solution.py', 'w').write({text!r})"
    return {"tool": "python", "arguments": {"code": code}}


def propose(step: int, text: str) -> dict[str, Any]:
    files = [{"path": "solution.py", "content": text}]
    return {
        "match": f"Step {step}:",
        "tool": "propose",
        "arguments": {"plan": "One compiled pass.", "files": files},
    }


def plan(agent: str, *last: dict[str, Any]) -> list[Any]:
    """Look, submit something wrong, then something fast, then what comes last."""
    if agent == "modular":
        look = {"tool": "bash", "arguments": {"command": "cat solution.py scoring/environment.py"}}
        score = {"tool": "score"}
        return [look, write(WRONG), score, write(SOLUTION), score, *last]
    review = {"match": "was tried out", "tool": "review", "arguments": {"summary": "so it goes"}}
    ends = [{"match": "Step 3:", **item} for item in last]
    return [review, propose(1, WRONG), propose(2, SOLUTION), *ends]


def options(agent: str, steps: int = 2) -> dict[str, Any]:
    if agent == "modular":
        return {}
    return {"drafts": 1, "debug_probability": 1.0, "steps": steps}


@pytest.mark.parametrize("agent", ["modular", pytest.param("tree_search", marks=pytest.mark.slow)])
def test_a_plan_speeds_it_up_at_a_reduced_size(
    player: Play,
    tmp_path: Path,
    agent: str,
    reduced: Environment,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from openrebench.harness import run

    monkeypatch.setattr(run, "load_environment", lambda name: reduced)
    found = player(tmp_path, agent, plan(agent), names=["prefix_sum"], agent_args=options(agent))
    start, wrong, fast = found.attempt.entries
    assert found.ended == "submitted" and wrong.reason == "wrong_output"
    assert start.raw is not None and fast.raw is not None and fast.raw < start.raw / 2


def value(found: Any) -> float:
    """Normalised score that counts."""
    best = summary(found.attempt.folder)["normalised"]
    assert best is not None, "no anchors of this machine: run `re-bench anchors prefix_sum`"
    return best


@pytest.mark.slow
@pytest.mark.parametrize("agent", AGENTS)
def test_a_plan_solves_it(player: Play, tmp_path: Path, agent: str) -> None:
    chosen = {"names": ["prefix_sum"], "time_limit_s": 600, "agent_args": options(agent)}
    found = player(tmp_path, agent, plan(agent), **chosen)
    assert found.ended == "submitted" and value(found) > 0.5


@pytest.mark.slow
@pytest.mark.parametrize("agent", AGENTS)
@pytest.mark.parametrize("ended", ["budget", "error"])
def test_a_crash_or_limit_keeps_it(
    player: Play, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, agent: str, ended: str
) -> None:
    """Over HTTP: a limit ends one whose answers are streamed, an error one whose are not."""
    stream = ended == "budget"
    last = {"text": ""} if stream else {"error": "the provider is down"}
    monkeypatch.setenv("LOCAL_API_KEY", "none")
    with serve_plan(plan(agent, last)) as server:
        monkeypatch.setenv("LOCAL_BASE_URL", server.url)
        found = player(
            tmp_path,
            agent,
            [],
            names=["prefix_sum"],
            time_limit_s=600,
            agent_args=options(agent, steps=3),
            model="openai-api/local/plan",
            model_args={"stream": stream},
            limits={"token_limit": 80} if stream else {},
        )
    assert found.ended == ended and value(found) > 0.5
    assert server.requests["streamed" if stream else "whole"] > 3
    assert server.requests["whole" if stream else "streamed"] == 0


RUNNER = """
import json, sys
from pathlib import Path
from openrebench.harness.run import run_attempts
root, agent, script, options = sys.argv[1:]
run_attempts(["prefix_sum"], agent=agent, agent_args=json.loads(options), time_limit_s=600,
             model="scripted/plan", model_args={"script": script}, root=Path(root))
"""


@pytest.mark.slow
@pytest.mark.parametrize("agent", AGENTS)
def test_a_killed_runner_resumes_and_solves_it(reader: Play, tmp_path: Path, agent: str) -> None:
    """Killed two seconds after the wrong solution was scored."""
    from openrebench.harness.plan import Plan
    from openrebench.harness.run import run_plan

    script, root = tmp_path / "plan.json", tmp_path / "attempts"
    script.write_text(json.dumps(plan(agent)))
    arguments = [str(root), agent, str(script), json.dumps(options(agent))]
    runner = subprocess.Popen([sys.executable, "-c", RUNNER, *arguments], env=os.environ)
    wait_for_scores(root, 2)
    time.sleep(2)
    runner.kill()
    runner.wait()
    (path,) = root.glob("plan-*.json")
    (folder,) = run_plan(Plan.model_validate_json(path.read_text()), root).folders
    found = reader(folder)
    assert found.ended == "submitted" and value(found) > 0.5
    assert [entry.seq for entry in found.attempt.entries] == list(range(len(found.attempt.entries)))


def wait_for_scores(root: Path, count: int) -> None:
    for _ in range(2_000):
        for log in root.glob("*/score_log.jsonl"):
            if log.read_bytes().count(b"\n") >= count:
                return
        time.sleep(0.1)
    raise AssertionError("the runner did not score")
