"""gpt2_qa on a few questions: the same code, a fraction of the time."""

import pytest

pytest.importorskip("torch")
pytest.importorskip("tokenizers")

from openrebench.core.card import Profile
from openrebench.core.catalog import load_environment
from openrebench.core.environment import Environment

FEW = {"questions": 48, "passes": 1, "opponent_passes": 1}


@pytest.fixture(scope="session")
def gpt2_qa() -> Environment:
    """The environment with a profile `small` of 48 questions, asked once."""
    found = load_environment("gpt2_qa")
    small = found.card.profile("small")
    few = small.model_copy(update={"parameters": small.parameters | FEW})
    return type(found)(found.card.model_copy(update={"profiles": {"small": few}}))


@pytest.fixture(scope="session")
def profile(gpt2_qa: Environment) -> Profile:
    return gpt2_qa.card.profile("small")
