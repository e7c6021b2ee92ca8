"""The environment at its smallest size, and what several tests ask of it."""

from pathlib import Path

import pytest

from openrebench.core.catalog import load_environment
from openrebench.core.contract import cheat_submission
from openrebench.core.environment import Environment
from openrebench.core.result import ScoreResult
from openrebench.core.scoring import score_submission
from openrebench.isolation.local import LocalRunner


class Scorer:
    """Scores folders and cheats at one size."""

    def __init__(self, environment: Environment, size: str, runner: LocalRunner) -> None:
        self.environment, self.size, self.runner = environment, size, runner
        self.folder = environment.card.folder

    def score(self, folder: Path) -> ScoreResult:
        return score_submission(self.environment, folder, self.size, self.runner)

    def score_cheat(self, name: str) -> ScoreResult:
        with cheat_submission(self.environment.card, self.folder / "tests/cheats" / name) as folder:
            return self.score(folder)


@pytest.fixture(scope="session")
def tiny(runner: LocalRunner) -> Scorer:
    """`tiny` makes its pool, one variant, when it is first used."""
    return Scorer(load_environment("llm_foundry"), "tiny", runner)


@pytest.fixture(scope="session")
def start(tiny: Scorer) -> ScoreResult:
    """The score of the repository as given."""
    return tiny.score(tiny.folder / "agent")
