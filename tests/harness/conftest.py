"""What the tests of the Inspect side share: an environment made for them, and its anchors."""

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from openrebench.core.anchors import Anchors, local_folder
from openrebench.core.catalog import PATH_VARIABLE, find_card
from openrebench.isolation.device import device_fingerprint

ENVIRONMENTS = Path(__file__).with_name("environments")
CANARY = "OPENREBENCH-TEST-CANARY"

# Before anything imports the tasks or Inspect: both look when they are imported.
os.environ[PATH_VARIABLE] = str(ENVIRONMENTS)
_data = tempfile.TemporaryDirectory(prefix="openrebench-inspect-")
os.environ["XDG_DATA_HOME"] = _data.name


@pytest.fixture(scope="session", autouse=True)
def inspect_data() -> Iterator[None]:
    """Keep what Inspect writes about runs away from the user's, and remove it."""
    yield
    _data.cleanup()


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
def anchors(own_home: Path) -> Iterator[Anchors]:
    """Anchors of the test environment: the start scores 41, the reference 0."""
    card = find_card("guess_number")
    made = Anchors(
        environment=card.id,
        version=card.version,
        profile="small",
        device=device_fingerprint("cpu").slug,
        unit=card.score.unit,
        start=(41.0,) * 5,
        reference=(0.0,) * 5,
        score_call_s=0.01,
        hardware={},
        versions={},
        isolation="none",
        conditions="made up",
    )
    path = made.save(local_folder(card))
    yield made
    path.unlink()
