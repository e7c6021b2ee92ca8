"""The same plans over HTTP on loopback, through Inspect's own OpenAI providers."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from openrebench.agents.plan_server import serve_plan

Play = Callable[..., Any]
GOOD = {"tool": "bash", "arguments": {"command": "echo 'NUMBER = 40' > solution.py"}}
MODULAR = [
    {"tool": "bash", "arguments": "{not JSON"},
    {"tool": "no_such_tool"},
    {"text": ""},
    {**GOOD, "text": "Nearer."},
    {"calls": [{"tool": "score"}, {"tool": "time_left"}]},
]
FILES = [{"path": "solution.py", "content": "NUMBER = 40\n"}]
TREE = [
    {"match": "Step 1", "text": "Nearer.\n```python solution.py\nNUMBER = 50\n```\n"},
    {"match": "Step 2", "tool": "propose", "arguments": {"plan": "nearer", "files": FILES}},
    {"match": "was tried out", "tool": "review", "arguments": {"summary": "good"}},
]


@pytest.fixture(autouse=True)
def keys(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("LOCAL_API_KEY", "OPENAI_API_KEY"):
        monkeypatch.setenv(name, "none")


@pytest.mark.parametrize("stream", [True, False], ids=["streamed", "whole"])
def test_modular_over_a_compatible_url(
    player: Play, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, stream: bool
) -> None:
    with serve_plan(MODULAR) as server:
        monkeypatch.setenv("LOCAL_BASE_URL", server.url)
        options = {"model": "openai-api/local/plan", "model_args": {"stream": stream}}
        found = player(tmp_path, "modular", [], **options)
    assert (found.ended, found.raws) == ("submitted", [41.0, 2.0])
    assert found.results("no_such_tool") == ["Tool no_such_tool not found"]
    usage = found.attempt.record.usage
    assert (usage.input_tokens, usage.output_tokens) == (60, 30)
    asked = {"streamed": 6, "whole": 0} if stream else {"streamed": 0, "whole": 6}
    assert server.requests == asked


@pytest.mark.parametrize("stream", [True, False], ids=["streamed", "whole"])
def test_tree_search_over_a_compatible_url(
    player: Play, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, stream: bool
) -> None:
    with serve_plan(TREE) as server:
        monkeypatch.setenv("LOCAL_BASE_URL", server.url)
        options = {"model": "openai-api/local/plan", "model_args": {"stream": stream}}
        steps = {"steps": 2, "drafts": 1}
        found = player(tmp_path, "tree_search", [], agent_args=steps, **options)
    assert (found.ended, found.raws) == ("submitted", [41.0, 8.0, 2.0])
    assert server.requests["streamed" if stream else "whole"] == 4


def test_the_openai_provider(player: Play, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with serve_plan(MODULAR) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        options = {"model": "openai/plan", "model_args": {"responses_api": False}}
        found = player(tmp_path, "modular", [], **options)
    assert (found.ended, found.raws) == ("submitted", [41.0, 2.0])


def test_a_provider_that_refuses_keeps_the_best(
    player: Play, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = [GOOD, {"tool": "score"}, {"error": "no such model"}]
    with serve_plan(plan) as server:
        monkeypatch.setenv("LOCAL_BASE_URL", server.url)
        found = player(tmp_path, "modular", [], model="openai-api/local/plan", model_args={})
    assert (found.ended, found.raws) == ("error", [41.0, 2.0])


def test_a_provider_that_is_busy_is_asked_again(
    player: Play, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    busy = {"error": "slow down", "status": 429}
    plan = [[busy, GOOD], {"tool": "score"}]
    with serve_plan(plan) as server:
        monkeypatch.setenv("LOCAL_BASE_URL", server.url)
        found = player(tmp_path, "modular", [], model="openai-api/local/plan", model_args={})
    assert (found.ended, found.raws) == ("submitted", [41.0, 2.0])
    assert server.requests["whole"] == 4
