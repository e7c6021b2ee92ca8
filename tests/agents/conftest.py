"""What the tests of agents share: attempts at a small environment, played by a plan."""

import gc
import json
import os
import tempfile
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from openrebench.core.attempt import StoredAttempt, read_attempt
from openrebench.core.catalog import PATH_VARIABLE
from openrebench.isolation import device

ENVIRONMENTS = Path(__file__).parents[1] / "harness" / "environments"
LEFT_OPEN = "Unclosed <MemoryObject"  # streams that Inspect leaves to the garbage collector
RETRY = "The 'initial' parameter is deprecated"  # Inspect's call of tenacity

collect_ignore = ["solutions"]  # what runs inside a sandbox, with what is installed there

# Before anything imports the tasks or Inspect: both look when they are imported.
os.environ[PATH_VARIABLE] = str(ENVIRONMENTS)
_data = tempfile.TemporaryDirectory(prefix="openrebench-inspect-")
os.environ["XDG_DATA_HOME"] = _data.name


@pytest.fixture(scope="package", autouse=True)
def inspect_data() -> Iterator[None]:
    """Remove what Inspect wrote about runs, and the streams it left to the garbage collector."""
    yield
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", LEFT_OPEN, ResourceWarning)
        gc.collect()
    _data.cleanup()


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


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Pass over two warnings that are Inspect's own; all others stay errors."""
    here = Path(__file__).parent
    for item in items:
        if item.path.is_relative_to(here):
            item.add_marker(pytest.mark.filterwarnings(f"ignore:{LEFT_OPEN}:ResourceWarning"))
            item.add_marker(pytest.mark.filterwarnings(f"ignore:{RETRY}:DeprecationWarning"))
