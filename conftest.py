"""What several test folders share: this machine's runner, and prefix_sum at a reduced size."""

import os
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pytest

from openrebench.core.catalog import load_environment
from openrebench.core.environment import Environment
from openrebench.isolation.local import LocalRunner

# Programs that run inside a sandbox, with what is installed there: not to be imported here.
collect_ignore = [
    "src/openrebench/isolation/shim.py",
    "src/openrebench/isolation/probe_inside.py",
    "src/openrebench/__main__.py",
]


@pytest.fixture(scope="session", autouse=True)
def own_home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Keep what tests measure on this machine away from what its user measured."""
    home = tmp_path_factory.mktemp("openrebench-home")
    before = os.environ.get("OPENREBENCH_HOME")
    os.environ["OPENREBENCH_HOME"] = str(home)
    yield home
    if before is None:
        del os.environ["OPENREBENCH_HOME"]
    else:
        os.environ["OPENREBENCH_HOME"] = before


@pytest.fixture(scope="session")
def runner() -> Iterator[LocalRunner]:
    """The strongest isolation that works here."""
    with LocalRunner() as found:
        yield found


@pytest.fixture(scope="session")
def prefix_sum() -> Environment:
    return load_environment("prefix_sum")


@pytest.fixture(scope="session")
def reduced(prefix_sum: Environment) -> Environment:
    """prefix_sum with a million elements: the same code, ten times sooner done."""
    parameters = prefix_sum.card.profile("small").parameters | {"n": 1_000_000, "timed_calls": 5}
    limits = {"call_timeout_s": 3.0, "load_timeout_s": 20.0, "memory_bytes": 2 << 30}
    return changed(prefix_sum, "small", limits, parameters=parameters)


@pytest.fixture(scope="session")
def hurried() -> Callable[[Environment, str], Environment]:
    """Give an environment that waits less for what hangs than honest submissions need."""
    return partial(changed, limits={"call_timeout_s": 3.0, "load_timeout_s": 5.0})


def changed(
    environment: Environment, profile: str, limits: dict[str, float], **fields: object
) -> Environment:
    """Copy an environment with one profile, some limits and fields of which are others."""
    before = environment.card.profile(profile)
    after = before.model_copy(update={"limits": before.limits.model_copy(update=limits), **fields})
    card = environment.card.model_copy(update={"profiles": {profile: after}})
    return type(environment)(card)
