"""The published size, on a tiny stand-in of the same format."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from inspect_ai.model import ModelAPI, ModelOutput, ModelUsage, modelapi

from openrebench.core.catalog import load_environment
from openrebench.core.scoring import score_submission
from openrebench.environments.rust_codecontests import full, sources
from openrebench.errors import ReBenchError
from openrebench.isolation.local import LocalRunner

DOUBLE = """```rust
use std::io::Read;
fn main() {
    let mut text = String::new();
    std::io::stdin().read_to_string(&mut text).unwrap();
    let number: i64 = text.trim().parse().unwrap();
    println!("{}", 2 * number);
}
```"""


class Doubles(ModelAPI):
    """Writes the same program whatever it is asked."""

    async def generate(self, input: Any, tools: Any, tool_choice: Any, config: Any) -> ModelOutput:
        output = ModelOutput.from_content(self.model_name, DOUBLE)
        output.usage = ModelUsage(input_tokens=10, output_tokens=60, total_tokens=70)
        return output


@modelapi(name="doubles")
def doubles() -> type[ModelAPI]:
    return Doubles


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


@pytest.mark.filterwarnings("ignore:The 'initial' parameter:DeprecationWarning")
def test_a_score_call_with_a_model_of_inspects(
    folder: Path, runner: LocalRunner, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENREBENCH_RUST_MODEL", "doubles/any")
    environment = load_environment("rust_codecontests")
    result = score_submission(environment, environment.card.folder / "agent", "full", runner)
    assert (result.raw, result.message) == (1.0, "3 of 3 problems solved")
    assert [flag.split(":")[0] for flag in result.flags] == ["selection", "model"]
    assert result.details["usage"]["score"]["used"]["tokens"] == 210  # type: ignore[index,call-overload]
