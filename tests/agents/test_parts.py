"""The parts of agents that need no attempt: context, choice, journal, policy, proposals."""

import random
from pathlib import Path
from typing import Any

import anyio
import pytest
from inspect_ai.model import (
    ChatMessage,
    ChatMessageAssistant,
    ChatMessageSystem,
    ChatMessageTool,
    ChatMessageUser,
    GenerateConfig,
    ModelOutput,
    ModelUsage,
    get_model,
)
from inspect_ai.tool import ToolCall

from openrebench.agents.choosing import choose, distinct
from openrebench.agents.context import Context, split
from openrebench.agents.journal import START, Node, Policy, Step, Tree
from openrebench.agents.lines import Lines
from openrebench.agents.proposals import (
    Proposal,
    ask_for_proposal,
    ask_for_review,
    read_proposal,
)
from openrebench.agents.scripted_model import ScriptedModel
from openrebench.agents.trial import ends
from openrebench.core.scale import ScoreScale

LOWER = ScoreScale(unit="ms", direction="lower", transform="log", start=1.0, reference=2.0)
HIGHER = ScoreScale(unit="%", direction="higher", transform="identity", start=1.0, reference=2.0)


def calling(tool: str, number: int = 0, **arguments: Any) -> ChatMessageAssistant:
    call = ToolCall(id=f"c{number}", function=tool, arguments=arguments)
    return ChatMessageAssistant(content="", tool_calls=[call])


def output(message: ChatMessageAssistant) -> ModelOutput:
    return ModelOutput.from_message(message)


def conversation(turns: int, letters: int = 400) -> list[ChatMessage]:
    found: list[ChatMessage] = [ChatMessageSystem(content="rules"), ChatMessageUser(content="task")]
    for k in range(turns):
        found.append(calling("bash", k, command="x"))
        found.append(ChatMessageTool(content="y" * letters, tool_call_id=f"c{k}", function="bash"))
    return found


def test_a_short_conversation_stays_as_it_is() -> None:
    messages = conversation(3)
    assert Context(10_000).fitted(messages) is messages


def test_whole_turns_are_left_out_until_it_fits() -> None:
    context = Context(1_000)
    messages = context.fitted(conversation(40))
    assert context.tokens(messages) <= 1_000
    opening, turns = split(messages)
    assert [message.text for message in opening] == ["rules", "task"]
    assert messages[2].role == "user" and "left out" in messages[2].text
    for call, result in turns:
        assert call.tool_calls[0].id == result.tool_call_id  # type: ignore[union-attr]
    assert turns[-1][-1].tool_call_id == "c39"  # type: ignore[union-attr]


def test_cutting_again_leaves_one_notice() -> None:
    context = Context(1_000)
    messages = context.fitted(conversation(40))
    for k in range(100, 140):
        messages = context.fitted([*messages, calling("bash", k, command="z" * 200)])
        assert context.tokens(messages) <= 1_000
    assert sum("left out" in message.text for message in messages) == 1


def test_the_last_turn_stays_however_long() -> None:
    messages = Context(1_000).fitted(conversation(2, letters=9_000))
    assert len(split(messages)[1]) == 1


def test_counted_tokens_go_before_guessed_ones() -> None:
    context, messages = Context(1_000), conversation(4)
    before = context.tokens(messages)
    told = ModelOutput.from_content("m", "x")
    told.usage = ModelUsage(input_tokens=500, input_tokens_cache_read=3_500)
    context.learn(messages, told)
    assert context.tokens(messages) == pytest.approx(4_000) and before < 1_000


def test_equal_actions_count_once_and_words_only_if_nothing_else() -> None:
    a, b = calling("bash", 1, command="a"), calling("bash", 2, command="b")
    words = ChatMessageAssistant(content="hm")
    same = calling("bash", 3, command="a")
    assert distinct([output(m) for m in (words, a, b, same)]) == [a, b]
    assert distinct([output(words)]) == [words]
    assert distinct([ModelOutput(model="m", choices=[])]) == []


@pytest.mark.parametrize(
    ("answer", "chosen"),
    [
        ({"tool": "choose", "arguments": {"option": 2, "reason": "r"}}, 1),
        ({"tool": "choose", "arguments": {"option": "2"}}, 1),
        ({"tool": "choose", "arguments": {"option": 7}}, 0),
        ({"tool": "choose", "arguments": {}}, 0),
        ({"tool": "choose", "arguments": "{"}, 0),
        ({"tool": "bash", "arguments": {"option": 2}}, 0),
        ({"text": "the second"}, 0),
    ],
)
def test_a_choice_is_read_or_the_first_stands(answer: dict[str, Any], chosen: int) -> None:
    options = [calling("bash", k, command=str(k)) for k in range(2)]
    model = get_model("scripted/x", memoize=False, script=[answer])
    found = anyio.run(choose, model, [ChatMessageUser(content="task")], options, [])
    assert found is options[chosen]


def node(number: int, kind: str = "draft", parent: int = 0, raw: float | None = 1.0) -> Node:
    verdict = "scored" if raw is not None else "failed"
    return Node(id=number, kind=kind, parent=parent, verdict=verdict, raw=raw)  # type: ignore[arg-type]


def tree(*nodes: Node, scale: ScoreScale = LOWER) -> Tree:
    return Tree([Node(id=START, kind="start", verdict="scored", raw=5.0), *nodes], scale)


def test_drafts_come_first_and_those_in_flight_count() -> None:
    policy = Policy(drafts=2)
    first = policy.next_step(tree(), [])
    second = policy.next_step(tree(), [first])
    third = policy.next_step(tree(), [first, second])
    assert (first, second) == (Step(1, "draft", 0), Step(2, "draft", 0))
    assert third == Step(3, "improve", 0)


def test_the_best_is_improved_in_the_direction_of_the_card() -> None:
    nodes = [node(1, raw=3.0), node(2, raw=2.0), node(3, raw=4.0)]
    assert Policy(drafts=3).next_step(tree(*nodes), []) == Step(4, "improve", 2)
    higher = tree(*nodes, scale=HIGHER)
    assert Policy(drafts=3).next_step(higher, []) == Step(4, "improve", 0)


def test_where_scores_are_hidden_the_newest_that_works_is_improved() -> None:
    hidden = Node(id=1, kind="draft", verdict="scored", raw=None)
    newer = hidden.model_copy(update={"id": 2})
    assert Policy(drafts=2).next_step(tree(hidden, newer), []).parent == 2


def test_what_is_broken_is_debugged_up_to_a_depth_and_not_twice_at_a_time() -> None:
    policy = Policy(drafts=1, debug_probability=1.0, debug_depth=2)
    broken = [node(1, raw=None)]
    assert policy.next_step(tree(*broken), []) == Step(2, "debug", 1)
    assert policy.next_step(tree(*broken), [Step(2, "debug", 1)]) == Step(3, "improve", 0)
    broken += [node(2, "debug", 1, raw=None), node(3, "debug", 2, raw=None)]
    assert policy.next_step(tree(*broken), []) == Step(4, "improve", 0)


def test_debugging_and_improving_share_by_the_probability() -> None:
    policy = Policy(drafts=1, debug_probability=0.5)
    found = tree(node(1, raw=None))
    kinds = [
        policy.model_copy(update={"seed": seed}).next_step(found, []).kind for seed in range(400)
    ]
    assert 150 < kinds.count("debug") < 250
    again = [
        policy.model_copy(update={"seed": seed}).next_step(found, []).kind for seed in range(400)
    ]
    assert kinds == again


def test_with_nothing_that_works_it_drafts_on() -> None:
    start = Node(id=START, kind="start", verdict="invalid")
    found = Tree([start, node(1, raw=None)], LOWER)
    policy = Policy(drafts=1, debug_probability=0.0)
    assert policy.next_step(found, []) == Step(2, "draft", 0)


def test_an_answer_without_a_proposal_is_never_debugged() -> None:
    nothing = Node(id=1, kind="draft", verdict="nothing")
    policy = Policy(drafts=1, debug_probability=1.0)
    assert policy.next_step(tree(nothing), []).kind == "improve"


def test_an_error_of_ours_is_nobodys_to_debug() -> None:
    ours = Node(id=1, kind="draft", verdict="error")
    policy = Policy(drafts=1, debug_probability=1.0)
    assert policy.next_step(tree(ours), []).kind == "improve"


def test_lines_survive_any_cut(tmp_path: Path) -> None:
    lines = Lines(tmp_path / "journal.jsonl", Node)
    assert lines.read() == []
    nodes = [node(k, raw=float(k)) for k in range(3)]
    for each in nodes:
        lines.append(each)
    whole = lines.path.read_bytes()
    for cut in [random.Random(0).randrange(len(whole)) for _ in range(50)]:
        lines.path.write_bytes(whole[:cut])
        kept = lines.read()
        assert kept == nodes[: len(kept)] and len(kept) >= whole[:cut].count(b"\n")
        lines.append(node(9))
        assert lines.read() == [*kept, node(9)]


FILE = {"path": "a.py", "content": "x = 1\n"}


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        ({"text": "I would rather not."}, "calls no tool"),
        ({"text": "```python\nx = 1\n```"}, "calls no tool"),
        ({"tool": "propose", "arguments": "{"}, "not JSON"),
        ({"tool": "propose", "arguments": {"files": "a.py"}}, "files: Input should be"),
        ({"tool": "propose", "arguments": {"plan": "p", "files": []}}, "neither a file"),
        ({"tool": "propose", "arguments": {"files": [{**FILE, "path": "/etc/a"}]}}, "not below"),
        ({"tool": "propose", "arguments": {"files": [{**FILE, "path": "../a"}]}}, "not below"),
        ({"tool": "bash", "arguments": {}}, "calls no tool"),
    ],
)
def test_no_proposal_is_told_why_and_asked_for_again(answer: dict[str, Any], told: str) -> None:
    good = {"match": "That was no proposal", "tool": "propose", "arguments": {"files": [FILE]}}
    question: list[ChatMessage] = [ChatMessageUser(content="propose")]
    stubborn = get_model("scripted/x", memoize=False, script=[answer])
    assert told in anyio.run(ask_for_proposal, stubborn, question, GenerateConfig())
    willing = get_model("scripted/x", memoize=False, script=[answer, good])
    found = anyio.run(ask_for_proposal, willing, question, GenerateConfig())
    assert isinstance(found, Proposal) and found.texts() == {"a.py": "x = 1\n"}


def test_code_blocks_are_a_proposal() -> None:
    text = "Faster.\n```python ./sub/a.py\nx = 1\n```\nand\n```run\nmake -j\n```\n"
    found = read_proposal(ModelOutput.from_content("m", text))
    assert found.texts() == {"sub/a.py": "x = 1\n"} and found.command == "make -j\n"
    assert found.plan.split() == ["Faster.", "and"]


def test_a_review_is_a_call_or_words_or_nothing() -> None:
    for answer, expected in (
        ({"tool": "review", "arguments": {"summary": "good"}}, "good"),
        ({"tool": "review", "arguments": {"summary": 3}}, ""),
        ({"text": " fine "}, "fine"),
        ({"text": ""}, ""),
    ):
        model = get_model("scripted/x", memoize=False, script=[answer])
        assert anyio.run(ask_for_review, model, "what came out?") == expected


def test_an_empty_output_is_read_as_nothing() -> None:
    with pytest.raises(ValueError, match="empty"):
        read_proposal(ModelOutput(model="m", choices=[]))


def test_a_long_output_keeps_both_ends() -> None:
    text = "a" * 9_000 + "z" * 9_000
    assert ends("short") == "short"
    assert len(ends(text)) < 6_000 and ends(text)[0] == "a" and ends(text)[-1] == "z"


def test_the_scripted_model_is_known_to_inspect() -> None:
    assert isinstance(get_model("scripted/x", memoize=False).api, ScriptedModel)
