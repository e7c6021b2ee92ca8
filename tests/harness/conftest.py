"""What the tests of the Inspect side share: an environment made for them, and its anchors."""

import contextlib
import json
import os
import runpy
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from openrebench.core.anchors import Anchors, local_folder
from openrebench.core.attempt import StoredAttempt, read_attempt
from openrebench.core.catalog import find_card
from openrebench.isolation import cgroup, device
from openrebench.isolation.device import device_fingerprint


@pytest.fixture(scope="session")
def odd() -> None:
    """Register the models of odd_models.py with Inspect."""
    runpy.run_path(str(Path(__file__).with_name("odd_models.py")))


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


@pytest.fixture(autouse=True)
def own_permit(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Do not wait for timed scores of other processes: these scores are not timed."""
    monkeypatch.setattr(device, "LOCK_FOLDER", tmp_path)


def traces(pids: set[int]) -> list[str]:
    """List what the sandboxes of some processes have left on the host."""
    owners = {str(pid) for pid in pids}
    groups = Path("/sys/fs/cgroup").rglob(f"{cgroup.PREFIX}-*")
    folders = Path(tempfile.gettempdir()).glob("openrebench-s*-*-*")  # submissions, sandboxes
    mounts = Path("/proc/self/mounts").read_text().splitlines()
    found = [path for path in groups if path.name.rsplit("-", 2)[-2] in owners]
    inside: list[str] = []
    for path in found:
        with contextlib.suppress(OSError):  # gone meanwhile
            inside += (path / "cgroup.procs").read_text().split()
    found += [path for path in folders if path.name.split("-")[2] in owners]
    return [*map(str, found), *inside, *[line for line in mounts if "openrebench" in line]]


@pytest.fixture
def left_behind() -> Iterator[set[int]]:
    """Fail if sandboxes leave anything behind: of this process, and of those that a test adds."""
    pids = {os.getpid()}
    before = set(traces(pids))  # such as the spare worker of a runner that the session keeps
    yield pids
    deadline = time.monotonic() + 5
    while (left := set(traces(pids)) - before) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not left


OWN_PROCESS = """
import signal, sys
from pathlib import Path
from openrebench.isolation import device
device.LOCK_FOLDER = Path(sys.argv.pop(1))
signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored below a shell's `&`
from openrebench.cli import main
main()
"""


@pytest.fixture
def own_process(tmp_path: Path) -> list[str]:
    """Give the beginning of a `re-bench` command that waits for no other process's scores."""
    return [sys.executable, "-c", OWN_PROCESS, str(tmp_path)]


Play = Callable[..., tuple[StoredAttempt, Path]]


@pytest.fixture
def play(tmp_path: Path) -> Play:
    """Play steps in one attempt; gives the attempt and the transcript."""
    from openrebench.harness.run import run_attempts

    def run(steps: list[dict[str, object]], **options: object) -> tuple[StoredAttempt, Path]:
        script = tmp_path / "steps.json"
        script.write_text(json.dumps(steps))
        agent_args = {"steps": str(script), **options.pop("agent_args", {})}  # type: ignore[dict-item]
        chosen = {"time_limit_s": 60, "agent": "scripted", "agent_args": agent_args, **options}
        (folder,) = run_attempts(["guess_number"], root=tmp_path / "attempts", **chosen)  # type: ignore[arg-type]
        return read_attempt(folder), folder / "transcript.eval"

    return run
