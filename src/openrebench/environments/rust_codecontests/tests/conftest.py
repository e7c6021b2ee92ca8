"""What the tests share: the size `tiny`, and scores of it."""

from collections.abc import Callable
from pathlib import Path

import pytest

from openrebench.core.card import Profile
from openrebench.core.catalog import load_environment
from openrebench.core.environment import Environment
from openrebench.core.result import ScoreResult
from openrebench.core.scoring import score_submission
from openrebench.environments.rust_codecontests.judge import needs_compiler
from openrebench.isolation.local import LocalRunner


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Leave out what compiles, where nothing can: `re-bench doctor` says what to install."""
    if problem := needs_compiler():
        for item in items:
            if "rust_codecontests" in str(item.path) and "runner" in item.fixturenames:  # type: ignore[attr-defined]
                item.add_marker(pytest.mark.skip(reason=problem))


@pytest.fixture(scope="session")
def environment() -> Environment:
    return load_environment("rust_codecontests")


@pytest.fixture(scope="session")
def profile(environment: Environment) -> Profile:
    return environment.card.profile("tiny")


Scores = Callable[..., ScoreResult]


@pytest.fixture
def score(environment: Environment, runner: LocalRunner, tmp_path: Path) -> Scores:
    """Score files over the starting solution; a text is a solve.py."""

    def scores(solve: str | None = None, scored: Environment = environment) -> ScoreResult:
        folder = tmp_path / f"submission-{len(list(tmp_path.iterdir()))}"
        folder.mkdir()
        for path in (environment.card.folder / "agent").glob("*.py"):
            (folder / path.name).write_bytes(path.read_bytes())
        if solve is not None:
            (folder / "solve.py").write_text(solve)
        return score_submission(scored, folder, "tiny", runner, on_error=_raise)

    return scores


def _raise(reference: str, text: str) -> None:
    raise AssertionError(text)
