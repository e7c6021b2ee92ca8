"""A scaffold scored with a model of Inspect's: rust_codecontests at full size, in little."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from inspect_ai.model import ModelAPI, ModelOutput, ModelUsage, modelapi

from openrebench.core.catalog import load_environment
from openrebench.core.scoring import score_submission
from openrebench.environments.rust_codecontests import full
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


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Three problems in the format of CodeContests."""
    tests = {"input": ["1\n", "-4\n"], "output": ["2\n", "-8\n"]}
    row = {"description": "Double a number.", "public_tests": tests, "cf_rating": 800}
    for name in ("test", "valid"):
        rows = [json.dumps({**row, "name": letter}) + "\n" for letter in "abc"]
        (tmp_path / f"{name}.jsonl").write_text("".join(rows))
    monkeypatch.setenv("OPENREBENCH_CODECONTESTS", str(tmp_path))
    full.load.cache_clear()
    yield tmp_path
    full.load.cache_clear()


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
