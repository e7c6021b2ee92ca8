"""The published size, on a tiny stand-in of the same format."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from openrebench.core.catalog import load_environment
from openrebench.environments.rust_codecontests import full, sources
from openrebench.errors import ReBenchError


def row(name: str, rating: int, difficulty: int = 7) -> dict[str, object]:
    tests = {"input": ["1\n"], "output": ["2\n"]}
    return {
        "name": name,
        "description": f"Double a number ({name}).",
        "public_tests": tests,
        "private_tests": {"input": ["2\n", "3\n"], "output": ["4\n", "6\n"]},
        "generated_tests": {"input": [], "output": []},
        "cf_rating": rating,
        "difficulty": difficulty,
        "solutions": {"language": [4], "solution": ["fn main() { secret(); }"]},
    }


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    rows = [row("a", 800), row("b", 1500), row("c", 1600), row("d", 0, 1), row("e", 0)]
    for name in ("test", "valid"):
        (tmp_path / f"{name}.jsonl").write_text("".join(json.dumps(r) + "\n" for r in rows))
    monkeypatch.setenv("OPENREBENCH_CODECONTESTS", str(tmp_path))
    full.load.cache_clear()
    yield tmp_path
    full.load.cache_clear()


def test_the_easier_problems_are_chosen_with_all_their_tests(folder: Path) -> None:
    found = full.load("score")
    assert [problem.key for problem in found] == ["a", "b", "d"]
    assert [test.output for test in found[0].tests] == ["2\n", "4\n", "6\n"]


def test_solvers_get_neither_solutions_nor_hidden_tests(folder: Path) -> None:
    text = json.dumps(full.load("score")[0].stripped())
    assert "secret" not in text and "4\\n" not in text and '"input": ["1\\n"]' in text


def test_the_environment_stages_and_asks_the_configured_model(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    environment = load_environment("rust_codecontests")
    profile = environment.card.profile("full")
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    assert "OPENAI_API_KEY" in (environment.unavailable(profile) or "")
    monkeypatch.setenv("OPENREBENCH_RUST_MODEL", "mockllm/model")
    assert environment.unavailable(profile) is None
    assert sources.model_name(profile) == "mockllm/model"
    assert len(sources.dev_problems(profile)) == 3


def test_a_garbled_file_is_one_sentence(folder: Path) -> None:
    (folder / "test.jsonl").write_text('{"name": "a", "cf_rating": 800}\n')
    with pytest.raises(ReBenchError, match="problem 1: lacks or garbles 'description'"):
        full.load("score")
    (folder / "test.jsonl").write_text("{")
    with pytest.raises(ReBenchError, match="not one JSON object a line"):
        full.load("final")
