"""What the tests of agents share: attempts at a small environment, played by a plan."""

import json
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from openrebench.core.attempt import StoredAttempt, read_attempt
from openrebench.isolation import device

collect_ignore = ["solutions"]  # what runs inside a sandbox, with what is installed there


@pytest.fixture(autouse=True)
def own_permit(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Do not wait for timed scores of other processes where scores are not timed."""
    if request.node.get_closest_marker("slow") is None:
        tmp_path = request.getfixturevalue("tmp_path")
        monkeypatch.setattr(device, "LOCK_FOLDER", tmp_path)


class Played(NamedTuple):
    """An attempt, and what its transcript says."""

    attempt: StoredAttempt
    messages: list[Any]
    events: list[Any]

    @property
    def raws(self) -> list[float | None]:
        return [entry.raw for entry in self.attempt.entries]

    @property
    def ended(self) -> str | None:
        return self.attempt.record.ended

    def results(self, function: str) -> list[str]:
        """Texts, or errors, of all results of a tool."""
        tools = [m for m in self.messages if m.role == "tool" and m.function == function]
        return [m.error.message if m.error else m.text for m in tools]

    def asked(self) -> list[str]:
        """Text of the last message of every request to a model."""
        return [e.input[-1].text for e in self.events if e.event == "model"]


def play(root: Path, agent: str, plan: list[Any], **options: Any) -> Played:
    """Let an agent attempt the number-guessing environment with a scripted model."""
    from openrebench.harness.run import run_attempts

    script = root / "plan.json"
    script.write_text(json.dumps(plan))
    chosen: dict[str, Any] = {
        "model": "scripted/plan",
        "model_args": {"script": str(script)},
        "time_limit_s": 60,
        **options,
    }
    names = chosen.pop("names", ["guess_number"])
    (folder,) = run_attempts(names, agent=agent, root=root / "attempts", **chosen)
    return played(folder)


def played(folder: Path) -> Played:
    from inspect_ai.log import read_eval_log

    (sample,) = (
        read_eval_log(str(folder / "transcript.eval"), resolve_attachments=True).samples or []
    )
    return Played(read_attempt(folder), sample.messages, sample.events)


@pytest.fixture
def player() -> Any:
    return play


@pytest.fixture
def reader() -> Any:
    return played
