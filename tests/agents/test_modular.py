"""The agent `modular` and Inspect's `react`, in whole attempts with a scripted model."""

import itertools
import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from openrebench.agents import modular
from openrebench.agents.lines import Lines
from openrebench.core.attempt import find_attempts
from openrebench.errors import ReBenchError

Play = Callable[..., Any]
GOOD = {"tool": "bash", "arguments": {"command": "echo 'NUMBER = 40' > solution.py"}}
SCORE = {"tool": "score"}


def bash(command: str) -> dict[str, object]:
    return {"tool": "bash", "arguments": {"command": command}}


def test_it_acts_scores_and_submits(player: Play, tmp_path: Path) -> None:
    found = player(tmp_path, "modular", [GOOD, SCORE, {"tool": "score_log"}])
    assert (found.ended, found.raws) == ("submitted", [41.0, 2.0])
    assert found.attempt.record.solver.name == "modular"
    assert found.attempt.record.solver.settings["candidates"] == 1
    assert "#1 at" in found.results("score_log")[0]
    asked = found.asked()
    assert "[turn 1] time: 1m left of 1m; tokens: 0 used; 1 score calls, best 41.0" in asked[0]
    assert "2 score calls, best 2.0 points" in asked[2]


def test_wrong_calls_are_answered_and_cost_nothing_else(player: Play, tmp_path: Path) -> None:
    wrong = [
        {"tool": "bash", "arguments": {"cmd": "ls"}},
        {"tool": "bash", "arguments": {"command": ["ls", 3]}},
        {"tool": "bash", "arguments": "{not JSON"},
        {"tool": "submit", "arguments": {"answer": {"a": 1}}},
        {"tool": "no_such_tool"},
        {"tool": "timeout", "arguments": {"seconds": 0}},
        {"tool": "timeout", "arguments": {"seconds": "soon"}},
        {"tool": "python", "arguments": {"code": "import os; os.kill(os.getpid(), 9)"}},
        bash("exit 3"),
    ]
    found = player(tmp_path, "modular", [GOOD, SCORE, *wrong, SCORE])
    assert (found.ended, found.raws) == ("submitted", [41.0, 2.0, 2.0])
    assert "'command' is a required property" in found.results("bash")[1]
    assert "Tool no_such_tool not found" in found.results("no_such_tool")
    assert "from 1 to 1200 seconds" in found.results("timeout")[0]


def test_the_time_out_of_a_call_can_be_set(player: Play, tmp_path: Path) -> None:
    calls = [{"tool": "timeout", "arguments": {"seconds": 1}}, bash("echo a; sleep 30")]
    found = player(tmp_path, "modular", [{"calls": calls}, GOOD, SCORE])
    assert found.results("bash")[0].startswith("Command timed out")
    assert found.raws == [41.0, 2.0] and found.attempt.record.usage.working_s < 15


@pytest.mark.parametrize("agent", ["modular", "react"])
@pytest.mark.parametrize("answer", ["", "I think that is all.", "\x00\ufffd{{$notes}}"], ids=repr)
def test_a_model_that_answers_garbage_or_nothing(
    player: Play, tmp_path: Path, agent: str, answer: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(modular, "PAUSE_S", 0.0)
    garbage = [{"text": answer}] * 30
    found = player(tmp_path, agent, [GOOD, SCORE, *garbage])
    assert (found.ended, found.raws) == ("submitted", [41.0, 2.0])
    assert sum(message.role == "assistant" for message in found.messages) == 12


@pytest.mark.parametrize("agent", ["modular", "react"])
def test_a_failing_provider_keeps_the_best(player: Play, tmp_path: Path, agent: str) -> None:
    found = player(tmp_path, agent, [GOOD, SCORE, {"error": "provider is down"}])
    assert (found.ended, found.raws) == ("error", [41.0, 2.0])


def test_limits_keep_the_best(player: Play, tmp_path: Path) -> None:
    wait = bash("sleep 60")
    found = player(tmp_path, "modular", [GOOD, SCORE, wait], time_limit_s=3)
    assert (found.ended, found.raws) == ("budget", [41.0, 2.0])


def test_it_is_told_when_a_limit_comes_near(player: Play, tmp_path: Path) -> None:
    plan = [GOOD, SCORE, {"tool": "time_left"}, {"tool": "time_left"}]
    found = player(tmp_path, "modular", plan, limits={"token_limit": 60})
    assert (found.ended, found.raws) == ("budget", [41.0, 2.0])
    assert "tokens: 30 left of 60" in found.asked()[2]
    assert found.asked()[3].endswith("finish what you are at and score it.")


def test_tokens_end_it_with_several_candidates(player: Play, tmp_path: Path) -> None:
    options = {"agent_args": {"candidates": 3, "choose": False}, "limits": {"token_limit": 130}}
    found = player(tmp_path, "modular", [GOOD, SCORE, *[SCORE] * 9], **options)
    assert found.ended == "budget" and found.raws[:2] == [41.0, 2.0]


def test_react_is_told_too_but_not_every_time(player: Play, tmp_path: Path) -> None:
    found = player(tmp_path, "react", [GOOD, SCORE, SCORE], limits={"token_limit": 1_000})
    assert not any("left of" in text for text in found.asked())
    again = tmp_path / "again"
    again.mkdir()
    found = player(again, "react", [GOOD, SCORE, SCORE], limits={"token_limit": 90})
    assert [text.count("tokens:") for text in found.asked()] == [0, 1, 1, 1]


def test_a_model_chooses_among_candidates(player: Play, tmp_path: Path) -> None:
    far, near = bash("echo 'NUMBER = 900' > solution.py"), GOOD
    plan = [
        {"match": "possible next actions", "tool": "choose", "arguments": {"option": 2}},
        [far, near, far],
        SCORE,
    ]
    found = player(tmp_path, "modular", plan, agent_args={"candidates": 3})
    assert (found.ended, found.raws) == ("submitted", [41.0, 2.0])
    (question,) = [text for text in found.asked() if "possible next actions" in text]
    assert question.count("Action ") == 2 and "NUMBER = 900" in question


def test_without_a_choosing_model_the_first_counts(player: Play, tmp_path: Path) -> None:
    options = {"candidates": 2, "choose": False}
    found = player(tmp_path, "modular", [[GOOD, bash("true")], SCORE], agent_args=options)
    assert found.raws == [41.0, 2.0]


def test_a_wipe_leaves_notes_and_scores(player: Play, tmp_path: Path) -> None:
    plan = [
        {"match": "Write notes to yourself", "text": "40 is $near"},
        {"match": "Your notes:\\s+40 is \\$near", "tool": "submit"},
        GOOD,
        {**SCORE, "wait_s": 1.5},
        SCORE,
    ]
    found = player(tmp_path, "modular", plan, agent_args={"wipe_minutes": 0.02})
    assert (found.ended, found.raws) == ("submitted", [41.0, 2.0])
    kept = [message.text for message in found.messages]
    assert "#1 at" in kept[2] and len(kept) == 5


def test_a_long_conversation_is_cut(player: Play, tmp_path: Path) -> None:
    plan = [
        {"match": r"\[turn 1\]", **GOOD},
        {"match": r"\[turn 9\]", **SCORE},
        {"match": r"\[turn 10\]", "tool": "submit"},
        {"match": "turn", **bash("seq 1 1200")},
    ]
    found = player(tmp_path, "modular", plan, agent_args={"context_tokens": 4_000})
    said = [len("".join(m.text for m in e.input)) for e in found.events if e.event == "model"]
    assert found.ended == "submitted" and max(said) < 22_000
    assert any("left out" in m.text for m in found.messages)


def test_it_goes_on_where_it_was_interrupted(
    player: Play, reader: Play, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from openrebench.harness.plan import Plan
    from openrebench.harness.run import run_plan

    first = [GOOD, SCORE, {"text": "", "wait_s": 2}, {"tool": "submit"}]
    with monkeypatch.context() as patched, pytest.raises(KeyboardInterrupt):
        patched.setattr(Lines, "append", _interrupting(Lines.append, 2))
        player(tmp_path, "modular", first)
    (path,) = (tmp_path / "attempts").glob("plan-*.json")
    (folder,) = run_plan(Plan.model_validate_json(path.read_text()), path.parent).folders
    found = reader(folder)
    assert (found.ended, found.raws) == ("submitted", [41.0, 2.0])
    turns = Lines(folder / modular.FILE, modular.Turn).read()
    assert [turn.number for turn in turns] == [1, 2, 3, 4]
    assert "[turn 3]" in found.asked()[0]
    assert any("You were interrupted here" in message.text for message in found.messages)


def _interrupting(append: Callable[..., None], count: int) -> Callable[..., None]:
    """Do as a person who presses Ctrl-C after so many turns."""
    done = itertools.count(1)

    def interrupt(self: Any, line: Any) -> None:
        append(self, line)
        if next(done) == count:
            os.kill(os.getpid(), signal.SIGINT)

    return interrupt


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"candidates": 0}, "modular: option candidates is 0: Input should be greater"),
        ({"wipe_minutes": -1}, "option wipe_minutes is -1"),
        ({"no_such": 1}, "unexpected keyword argument 'no_such'"),
    ],
)
def test_wrong_options_are_told_at_once(
    player: Play, tmp_path: Path, options: dict[str, Any], told: str
) -> None:
    with pytest.raises(ReBenchError, match=told):
        player(tmp_path, "modular", [], agent_args=options)
    assert not (tmp_path / "attempts").exists() or find_attempts(tmp_path / "attempts") == []
