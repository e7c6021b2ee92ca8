"""The agents that come with the package, apart from sandboxes and models where possible."""

import json
import random
from collections.abc import Callable
from pathlib import Path

import pytest

from openrebench.agents.literal_search import NO_LITERALS, Search
from openrebench.agents.literals import changed, find_literals, replaced
from openrebench.agents.scripted_model import read_script
from openrebench.agents.steps import Score, Write, read_steps
from openrebench.core.attempt import StoredAttempt, read_attempt
from openrebench.core.scale import ScoreScale
from openrebench.errors import ReBenchError
from openrebench.harness.run import run_attempts

SCALE = ScoreScale(unit="ms", direction="lower", transform="log", start=1.0, reference=2.0)
SOURCE = 'N = 10\n"""12 is text"""\nfast = False  # 3\nx = "ä4" + f(2.5, N[0x1f])\n'


def search(text: str = SOURCE, seed: int = 0) -> Search:
    return Search(files={"a.py": text}, rng=random.Random(seed), scale=SCALE)


def test_literals_of_python_are_tokens_not_text() -> None:
    found = find_literals(".py", SOURCE)
    assert [literal.text for literal in found] == ["10", "False", "2.5", "0x1f"]
    assert all(SOURCE[lit.start : lit.end] == lit.text for lit in found)


@pytest.mark.parametrize(
    ("suffix", "text", "expected"),
    [
        (".json", '{"a": 1, "b2": true, "c": 0.5}', ["1", "true", "0.5"]),
        (".c", "#define N 16\nint x16 = N * 2;", ["16", "2"]),
        (".md", "There are 3.", []),
        (".py", 'x = 4\ny = """5', ["4"]),
        (".py", "", []),
    ],
)
def test_literals_elsewhere(suffix: str, text: str, expected: list[str]) -> None:
    assert [literal.text for literal in find_literals(suffix, text)] == expected


def test_a_change_is_of_the_same_kind() -> None:
    rng = random.Random(0)
    assert changed("True", rng) == "False"
    assert {changed("8", rng) for _ in range(99)} == {"9", "7", "16", "4", "32", "2"}
    assert float(changed("0.5", rng) or "nan") != 0.5
    assert changed("0x1f", rng) is None
    assert replaced("a = 1", find_literals(".py", "a = 1")[0], "22") == "a = 22"


def test_proposals_change_single_literals_first_and_never_repeat() -> None:
    seeking = search()
    proposals = [files for _ in range(40) if (files := seeking.propose())]
    texts = [files["a.py"] for files in proposals]
    assert len(texts) > 10 and len(set(texts)) == len(texts) and SOURCE not in texts
    changes = [
        sum(a != b for a, b in zip(text.splitlines(), SOURCE.splitlines(), strict=True))
        for text in texts
    ]
    assert changes == sorted(changes) and set(changes) == {1, 2}


def test_the_same_seed_gives_the_same_search() -> None:
    first, second, other = ([search(seed=seed).propose() for _ in range(3)] for seed in (1, 1, 2))
    assert first == second != other


def test_an_unchanged_score_again_is_no_progress() -> None:
    seeking = search()
    seeking.measure_noise(1.00, 0.90)
    start = seeking.files
    assert not seeking.judge({"a.py": "N = 11"}, 0.85)  # within what the same files differ by
    assert seeking.files is start and seeking.raw == 0.90
    assert seeking.judge({"a.py": "N = 12"}, 0.70)
    assert not seeking.judge({"a.py": "N = 13"}, None)
    assert seeking.files == {"a.py": "N = 12"}


def test_an_invalid_start_can_be_improved_on() -> None:
    seeking = search()
    seeking.measure_noise(None, None)
    assert seeking.judge({"a.py": "N = 12"}, 5.0)


def run_literal_search(root: Path, **options: object) -> list[StoredAttempt]:
    chosen = {"time_limit_s": 4, "agent": "literal_search", **options}
    return [read_attempt(f) for f in run_attempts(["guess_number"], root=root, **chosen)]  # type: ignore[arg-type]


def test_literal_search_finds_the_number(tmp_path: Path) -> None:
    (attempt,) = run_literal_search(tmp_path / "attempts", seed=3, time_limit_s=60)
    assert attempt.record.ended == "submitted"  # there is one number, and all near it were tried
    assert attempt.record.solver.settings == {"seed": 3}
    best = min(entry.raw for entry in attempt.entries if entry.raw is not None)
    assert best == 0.0 and len(attempt.entries) > 10


def test_literal_search_without_literals_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from inspect_ai.log import read_eval_log

    from openrebench.agents import literal_search

    monkeypatch.setattr(literal_search, "find_literals", lambda suffix, text: [])
    (attempt,) = run_literal_search(tmp_path / "attempts")
    assert attempt.record.ended == "submitted" and len(attempt.entries) == 1
    (sample,) = read_eval_log(str(attempt.folder / "transcript.eval")).samples or []
    assert sample.output.completion == f"stopped: {NO_LITERALS}"


def test_steps_are_checked(tmp_path: Path) -> None:
    path = tmp_path / "steps.yaml"
    path.write_text("- {do: write, path: a.py, content: 'x'}\n- {do: score, times: 2}\n")
    assert read_steps(path) == [
        Write(do="write", path="a.py", content="x"),
        Score(do="score", times=2),
    ]
    path.write_text("- {do: write, path: a.py}\n")
    with pytest.raises(ReBenchError, match=r"step 0\.write\.content: Field required"):
        read_steps(path)
    with pytest.raises(ReBenchError, match="can't be read"):
        read_steps(tmp_path / "none.yaml")


def test_scripts_are_checked(tmp_path: Path) -> None:
    path = tmp_path / "script.yaml"
    path.write_text("- text: hello\n- words: 1\n")
    with pytest.raises(ReBenchError, match="item 1"):
        read_script(path)


def test_all_steps_play(play: Callable[..., tuple[StoredAttempt, Path]], tmp_path: Path) -> None:
    told = tmp_path / "told.jsonl"
    steps = [
        {"do": "run", "command": "echo 'NUMBER = 42' > solution.py"},
        {"do": "wait", "seconds": 0.1},
        {"do": "score", "times": 2},
        {"do": "submit"},
        {"do": "fail"},
    ]
    attempt, _ = play(steps, agent_args={"acknowledge": str(told)})
    assert [entry.raw for entry in attempt.entries] == [41.0, 0.0, 0.0]
    anchors = [json.loads(line)["anchor"] for line in told.read_text().splitlines()]
    assert anchors == [entry.hash for entry in attempt.entries[1:]]
