"""Hostile programs in every isolation mode that holds on this machine.

`subprocess` is left out: it promises nothing, and its programs would act on this machine.
"""

import os
import tempfile
import textwrap
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest

from openrebench.isolation import box
from openrebench.isolation.layout import BoxSpec
from openrebench.isolation.local import LocalRunner
from openrebench.isolation.probe import probe_modes
from openrebench.isolation.runner import IsolationMode, Limits

MODES = [r.mode for r in probe_modes() if r.available and r.mode is not IsolationMode.SUBPROCESS]
SMALL = Limits(load_timeout_s=20, call_timeout_s=3, memory_bytes=1 << 30, processes=64)
NAMESPACES = {IsolationMode.BUBBLEWRAP, IsolationMode.BUBBLEWRAP_CGROUP}


@dataclass(frozen=True)
class Ended:
    code: int | None
    output: str
    box: box.Box


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "mode" in metafunc.fixturenames:
        metafunc.parametrize("mode", MODES, ids=str, scope="session")


@pytest.fixture
def inside() -> Callable[..., Ended]:
    """Run a Python program in a box and end it; checks that nothing is left of it."""

    def run(
        program: str, mode: IsolationMode, *, limits: Limits = SMALL, timeout_s: float = 20, **more
    ) -> Ended:
        argv = ("python", "-I", "-S", "-c", textwrap.dedent(program))
        running = box.start(BoxSpec(argv=argv, mode=mode, limits=limits, **more))
        try:
            code = running.wait(timeout_s)
        finally:
            running.kill()
        if os.getuid() == 0 and "uid" not in more:
            assert processes_of(running.uid) == []
        assert groups_of(running) == []
        scratch = Path(running.place("/tmp"))
        assert scratch == Path("/tmp") or not scratch.exists()
        return Ended(code, running.output.decode(), running)

    return run


@pytest.fixture
def reachable() -> Iterator[Path]:
    """A folder that any user can reach; pytest's own can be entered by its owner only."""
    with tempfile.TemporaryDirectory(prefix="openrebench-test-") as folder:
        os.chmod(folder, 0o755)
        yield Path(folder)


@cache
def _runner(mode: IsolationMode) -> LocalRunner:
    return LocalRunner(mode)


@pytest.fixture(scope="session")
def runner_for() -> Iterator[Callable[[IsolationMode], LocalRunner]]:
    """One runner for each mode, so that workers are warm."""
    yield _runner
    for mode in MODES:
        _runner(mode).close()


def processes_of(uid: int) -> list[str]:
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            state = (process / "stat").read_text().rpartition(")")[2].split()[0]
            if process.stat().st_uid == uid and state != "Z":
                found.append((process / "comm").read_text())
        except OSError:
            continue
    return found


def groups_of(running: box.Box) -> list[Path]:
    """Control groups that a box has not removed."""
    cgroup = running._parts.cgroup
    return [folder for folder in cgroup._folders.values() if folder.exists()] if cgroup else []
