"""Plans: which prepared answer a request gets, as a model and over HTTP."""

import json
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

import pytest

from openrebench.agents.plan import NO_TOOLS, SUBMIT, Plan, read_script
from openrebench.agents.plan_server import PlanServer, serve_plan
from openrebench.errors import ReBenchError

TOOLS = ["bash", "submit"]
LOOK = {"tool": "bash", "arguments": {"command": "ls ä"}, "text": "Let me look."}


def test_answers_come_in_order_and_then_submit() -> None:
    plan = Plan([{"text": "a"}, {"text": "b"}])
    assert [plan.answer(said, "", TOOLS) for said in (0, 1, 1, 2)] == [
        {"text": "a"},
        {"text": "b"},
        {"text": "b"},
        SUBMIT,
    ]


def test_a_match_goes_first_and_is_not_counted() -> None:
    plan = Plan([{"match": "step [12]\\b", "text": "found"}, {"text": "first"}])
    assert plan.answer(0, "step 2", TOOLS)["text"] == "found"
    assert plan.answer(0, "step 3", TOOLS)["text"] == "first"


def test_alternatives_take_turns() -> None:
    plan = Plan([[{"text": "a"}, {"text": "b"}]])
    assert [plan.answer(0, "", TOOLS)["text"] for _ in range(3)] == ["a", "b", "a"]


def test_without_tools_there_is_no_call() -> None:
    plan = Plan([LOOK, {"match": "notes", "text": "mine"}, {"match": "more", **LOOK}])
    assert plan.answer(0, "", []) == NO_TOOLS
    assert plan.answer(0, "notes", [])["text"] == "mine"
    assert plan.answer(0, "more", []) == NO_TOOLS


@pytest.mark.parametrize(
    ("text", "told"),
    [("- 1", "item 0 is 1"), ("- []", "item 0"), ("a: 1", "is a dict"), ("- [{x: 1}]", "item 0")],
)
def test_wrong_plans_are_told(tmp_path: Path, text: str, told: str) -> None:
    path = tmp_path / "plan.yaml"
    path.write_text(text)
    with pytest.raises(ReBenchError, match=told):
        read_script(path)


def ask(server: PlanServer, **request: Any) -> bytes:
    body = {"model": "m", "messages": [{"role": "user", "content": "hello"}], **request}
    sent = urllib.request.Request(f"{server.url}/chat/completions", json.dumps(body).encode())
    with urllib.request.urlopen(sent, timeout=10) as answer:
        return bytes(answer.read())


def offered(*names: str) -> list[dict[str, Any]]:
    return [{"type": "function", "function": {"name": name}} for name in names]


def test_the_server_answers_whole_and_as_a_stream() -> None:
    with serve_plan([LOOK]) as server:
        whole = json.loads(ask(server, tools=offered("bash")))
        lines = ask(server, tools=offered("bash"), stream=True).decode().split("\n\n")
        assert server.requests == {"streamed": 1, "whole": 1}
    message = whole["choices"][0]["message"]
    assert lines[-2:] == ["data: [DONE]", ""]
    events = [json.loads(line.removeprefix("data: ")) for line in lines[:-2]]
    deltas = [event["choices"][0]["delta"] for event in events if event["choices"]]
    calls = [call for delta in deltas for call in delta.get("tool_calls", [])]
    assert "".join(delta.get("content", "") for delta in deltas) == message["content"]
    told = message["tool_calls"][0]["function"]
    assert calls[0]["function"]["name"] == told["name"] == "bash"
    assert "".join(call["function"]["arguments"] for call in calls) == told["arguments"]
    assert json.loads(told["arguments"]) == LOOK["arguments"]
    assert events[-1]["usage"] == whole["usage"]


def test_the_server_knows_prefixed_tools_parts_and_answers_so_far() -> None:
    messages = [
        {"role": "user", "content": [{"type": "text", "text": "step 9"}]},
        {"role": "assistant", "content": "x"},
    ]
    plan = [{"text": "a"}, {"tool": "score"}, {"match": "step 8", "text": "no"}]
    with serve_plan(plan) as server:
        answer = json.loads(ask(server, messages=messages, tools=offered("mcp__a__score")))
        silent = json.loads(ask(server, messages=messages, tools=offered("b"), tool_choice="none"))
    call = answer["choices"][0]["message"]["tool_calls"][0]
    assert call["function"]["name"] == "mcp__a__score"
    assert silent["choices"][0]["message"]["content"] == "ok"


def test_the_server_tells_errors() -> None:
    with serve_plan([{"error": "overloaded", "status": 429}]) as server:
        with pytest.raises(urllib.error.HTTPError) as failed:
            ask(server, tools=offered("bash"))
        assert failed.value.code == 429 and b"overloaded" in failed.value.read()
        failed.value.close()
        wrong = urllib.request.Request(f"{server.url}/responses", b"{}")
        with pytest.raises(urllib.error.HTTPError) as missing:
            urllib.request.urlopen(wrong, timeout=10)
        assert missing.value.code == 404
        missing.value.close()
