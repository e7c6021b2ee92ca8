"""Claude Code and Codex CLI inside the sandbox, and what is said where they are missing."""

import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from openrebench.agents import swe
from openrebench.agents.plan_server import serve_plan
from openrebench.errors import ReBenchError
from openrebench.isolation import device
from openrebench.sandbox.extras import AGENT_CLIS_VARIABLE, agent_clis

Play = Callable[..., Any]
CHANGE = "echo 'NUMBER = 40' > solution.py; ls -a / /opt/agents/bin"
STEPS = {
    "claude_code": {"tool": "Bash", "arguments": {"command": CHANGE, "description": "try"}},
    "codex": {"tool": "exec_command", "arguments": {"cmd": CHANGE}},
}
PROGRAMS = {"claude_code": "claude", "codex": "codex"}
LONG_WAIT_S = 75.0  # more than the programs' own patience with a tool


def plan(agent: str) -> list[dict[str, Any]]:
    return [STEPS[agent], {"tool": "score"}, {"tool": "time_left"}, {"text": "That is all."}]


def need(agent: str) -> None:
    if not (agent_clis() / "bin" / PROGRAMS[agent]).exists():
        pytest.skip(f"{PROGRAMS[agent]} is not there: run tools/agent_clis.sh")


@pytest.mark.slow
@pytest.mark.parametrize("stream", [True, False], ids=["streamed", "whole"])
@pytest.mark.parametrize("agent", ["claude_code", "codex"])
def test_a_program_in_the_sandbox_uses_a_model_over_http(
    player: Play, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, agent: str, stream: bool
) -> None:
    need(agent)
    monkeypatch.setenv("LOCAL_API_KEY", "none")
    with serve_plan(plan(agent)) as server:
        monkeypatch.setenv("LOCAL_BASE_URL", server.url)
        served = {"model": "openai-api/local/plan", "model_args": {"stream": stream}}
        found = player(tmp_path, agent, [], time_limit_s=600, **served)
    assert (found.ended, found.raws) == ("submitted", [41.0, 2.0])
    assert found.attempt.record.solver.settings["program"]
    assert server.requests["streamed" if stream else "whole"] >= 4
    told = " ".join(message.text for message in found.messages if message.role == "tool")
    assert "scored: 2.0 points" in told and "s left of 10m" in told
    assert found.attempt.record.usage.output_tokens == 5 * sum(server.requests.values())


@pytest.mark.slow
@pytest.mark.parametrize("agent", ["claude_code", "codex"])
def test_a_program_waits_for_a_score_as_long_as_it_takes(
    player: Play, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, agent: str
) -> None:
    need(agent)
    monkeypatch.setattr(device, "LOCK_FOLDER", tmp_path)
    started = threading.Event()

    def hold() -> None:
        started.wait()
        with device.exclusive():
            time.sleep(LONG_WAIT_S)

    from openrebench.core.attempt import Attempt

    thread = threading.Thread(target=hold, daemon=True)
    thread.start()
    score = Attempt.score

    def score_and_let_others_begin(self: Attempt, *args: Any, **kwargs: Any) -> Any:
        entry = score(self, *args, **kwargs)
        started.set()
        return entry

    monkeypatch.setattr(Attempt, "score", score_and_let_others_begin)
    found = player(tmp_path, agent, plan(agent), time_limit_s=600)
    thread.join()
    assert (found.ended, found.raws) == ("submitted", [41.0, 2.0])
    assert found.attempt.record.usage.wall_s > LONG_WAIT_S


@pytest.mark.parametrize("agent", ["claude_code", "codex"])
def test_a_program_that_is_missing_is_named(
    player: Play, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, agent: str
) -> None:
    monkeypatch.setenv(AGENT_CLIS_VARIABLE, str(tmp_path / "none"))
    found = player(tmp_path, agent, [])
    assert (found.ended, found.raws) == ("error", [41.0])
    (error,) = [event.error.message for event in found.events if event.event == "error"]
    assert f"'{PROGRAMS[agent]}' is not in the sandbox" in error


@pytest.mark.parametrize("make", [swe.claude_code, swe.codex], ids=["claude_code", "codex"])
def test_a_missing_package_is_named(
    monkeypatch: pytest.MonkeyPatch, make: Callable[[], object]
) -> None:
    monkeypatch.setitem(__import__("sys").modules, "inspect_swe", None)
    with pytest.raises(ReBenchError, match=r"openrebench\[swe\]"):
        make()
