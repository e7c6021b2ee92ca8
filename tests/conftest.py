"""What all tests here share: `environments/`, and a folder for what Inspect keeps about runs."""

import os
import signal
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from openrebench.core.catalog import PATH_VARIABLE

# Before anything imports the tasks or Inspect: both look when they are imported.
os.environ[PATH_VARIABLE] = str(Path(__file__).with_name("environments"))
_data = tempfile.TemporaryDirectory(prefix="openrebench-inspect-")
os.environ["XDG_DATA_HOME"] = _data.name
signal.signal(signal.SIGINT, signal.default_int_handler)  # it is ignored below a shell's `&`


@pytest.fixture(scope="session", autouse=True)
def inspect_data() -> Iterator[None]:
    """Remove what Inspect wrote about runs."""
    yield
    _data.cleanup()
