"""Every check of the contract, over every environment found."""

from functools import cache

import pytest

from openrebench.core.catalog import load_cards, load_environment
from openrebench.core.contract import CHECKS, Check, Subject
from openrebench.core.measuring import measure_anchors
from openrebench.isolation.local import LocalRunner


@cache
def subject(name: str, runner: LocalRunner) -> Subject:
    """Measure anchors once for each environment: promises hold against this machine's own."""
    environment = load_environment(name)
    anchors = measure_anchors(environment, "small", runner)
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
