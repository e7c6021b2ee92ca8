"""Every check of the contract, over every environment found."""

from functools import cache

import pytest

from openrebench.core.anchors import Anchors
from openrebench.core.catalog import load_cards, load_environment
from openrebench.core.contract import CHECKS, Check, Subject
from openrebench.core.environment import Environment
from openrebench.core.measuring import measure_anchors
from openrebench.core.reading import anchors_of, has_anchors
from openrebench.isolation.local import LocalRunner

TIMES = {"ms", "s"}


def shipped_anchors(environment: Environment) -> Anchors | None:
    """Anchors that came with an environment, unless they are times, which another machine took."""
    if environment.card.score.unit in TIMES or not has_anchors(environment.card, "small"):
        return None
    return anchors_of(environment.card, "small")


@cache
def subject(name: str, runner: LocalRunner) -> Subject:
    """Load an environment with anchors that hold here: its times are measured on this machine."""
    environment = load_environment(name)
    anchors = shipped_anchors(environment) or measure_anchors(environment, "small", runner)
    return Subject(environment=environment, profile="small", runner=runner, anchors=anchors)


# Every environment's own tests run its cheats, at a size that takes less time.
SLOW = {"cheats_gain_nothing"}
CASES = [
    pytest.param(check, id=check.name, marks=[pytest.mark.slow] if check.name in SLOW else [])
    for check in CHECKS
]


@pytest.mark.timeout(900)
@pytest.mark.parametrize("check", CASES)
@pytest.mark.parametrize("name", load_cards())
def test_contract(name: str, check: Check, runner: LocalRunner) -> None:
    assert check.run(subject(name, runner)) is None
