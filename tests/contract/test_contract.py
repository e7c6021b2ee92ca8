"""Every check of the contract, over every environment that we ship."""

from collections.abc import Callable
from functools import cache
from importlib.resources import files
from pathlib import Path

import pytest

from openrebench.core.anchors import MIN_RUNS, Anchors
from openrebench.core.catalog import find_card, load_cards, load_environment
from openrebench.core.contract import CHECKS, Check, Subject
from openrebench.core.environment import Environment
from openrebench.core.measuring import measure_anchors
from openrebench.core.reading import anchors_of, has_anchors
from openrebench.isolation.local import LocalRunner

TIMES = {"ms", "s"}
TINY, SMALL = "tiny", "small"
# Every environment's own tests run its cheats, at a size that takes less time.
SLOW = {"cheats_gain_nothing"}
NEED_ANCHORS = {"start_scores_zero", "reference_scores_one", *SLOW}


def size_of(name: str) -> str:
    """The size to check: `tiny` where `small` takes minutes, as finetuning runs do."""
    return TINY if TINY in load_cards()[name].profiles else SMALL


def shipped_anchors(environment: Environment, profile: str) -> Anchors | None:
    """Anchors that came with an environment, unless they are times, which another machine took."""
    if environment.card.score.unit in TIMES or not has_anchors(environment.card, profile):
        return None
    return anchors_of(environment.card, profile)


@pytest.fixture(scope="session")
def environment_of(reduced: Environment) -> Callable[[str], Environment]:
    """Give what to check: prefix_sum at a tenth of its size, whose promises are the same."""
    return lambda name: reduced if name == reduced.card.id else load_environment(name)


@pytest.fixture(scope="session")
def anchors_here(environment_of, runner: LocalRunner) -> Callable[[str], Anchors]:
    """Give anchors that hold here: times are measured on this machine."""

    @cache
    def find(name: str) -> Anchors:
        environment, profile = environment_of(name), size_of(name)
        found = shipped_anchors(environment, profile)
        # Twice as often as needed: the machine's speed moves from one half minute to the next.
        return found or measure_anchors(environment, profile, runner, runs=2 * MIN_RUNS)

    return find


def unused_anchors() -> Anchors:
    """Anchors for checks that don't look at them, where measuring takes long."""
    path = next(find_card("prefix_sum").folder.glob("anchors/small-*.json"))
    return Anchors.model_validate_json(path.read_text())


# Their own tests score starts and cheats by default; the whole contract takes minutes.
OWN_TESTS_SCORE = {"llm_foundry", "gpt2_qa", "rust_codecontests"}
QUICK = {"staged_holds_agent_only", "hidden_has_canary"}
HANGS = {"bad_submissions_are_invalid"}


def is_slow(name: str, check: Check) -> bool:
    if name in OWN_TESTS_SCORE:
        return check.name not in QUICK
    return check.name in (NEED_ANCHORS if size_of(name) == TINY else SLOW)


SHIPPED = Path(str(files("openrebench"))) / "environments"
CASES = [
    pytest.param(
        name,
        check,
        id=f"{name}-{check.name}",
        marks=[pytest.mark.slow] if is_slow(name, check) else [],
    )
    for name, card in load_cards().items()
    if card.folder.parent == SHIPPED
    for check in CHECKS
]


@pytest.mark.timeout(900)
@pytest.mark.parametrize(("name", "check"), CASES)
def test_contract(
    name: str, check: Check, runner: LocalRunner, environment_of, anchors_here, hurried
) -> None:
    environment, profile = environment_of(name), size_of(name)
    if check.name in HANGS:
        environment = hurried(environment, profile)
    subject = Subject(
        environment=environment,
        profile=profile,
        runner=runner,
        anchors=anchors_here(name) if check.name in NEED_ANCHORS else unused_anchors(),
    )
    assert check.run(subject) is None
