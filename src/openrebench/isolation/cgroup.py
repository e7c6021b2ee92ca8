"""Control groups: cap, freeze, count and kill a whole process tree.

Version 2 where its controllers are there; version 1 controllers beside an empty version 2 tree
otherwise (the first cap, the second freezes and kills). Without either a box does without, and
its isolation mode says so.
"""

import contextlib
import itertools
import os
import signal
import time
from collections.abc import Iterable, Iterator
from pathlib import Path

ROOT = Path("/sys/fs/cgroup")
PREFIX = "re-bench"
BUSY_RETRY_S = 5.0  # rmdir says EBUSY for a moment after the last process has gone
POLL_S = 0.002
_serial = itertools.count()


class Cgroup:
    """One throw-away group; `create` makes it."""

    def __init__(self, folders: dict[str, Path]) -> None:
        self._folders = folders

    @classmethod
    def create(cls, *, memory_bytes: int, processes: int) -> "Cgroup | None":
        """Make a group with limits below our own, or give None where that is not allowed."""
        name = f"{_ours()}-{os.getpid()}-{next(_serial)}"
        caps = {"memory": memory_bytes, "pids": processes}
        for parents in _places():
            _remove_orphans(parents.values())
            group = cls({kind: parent / name for kind, parent in parents.items()})
            try:
                group._make(caps)
            except OSError:
                group.close()
            else:
                return group
        return None

    def _make(self, caps: dict[str, int]) -> None:
        for folder in self._folders.values():
            folder.mkdir()
        if "memory" not in self._folders:
            (self._folders["unified"] / "memory.max").write_text(str(caps["memory"]))
            with contextlib.suppress(OSError):
                (self._folders["unified"] / "memory.swap.max").write_text("0")
            (self._folders["unified"] / "pids.max").write_text(str(caps["pids"]))
            return
        limit = self._folders["memory"] / "memory.limit_in_bytes"
        limit.write_text(str(caps["memory"]))
        with contextlib.suppress(OSError):
            limit.with_name("memory.memsw.limit_in_bytes").write_text(str(caps["memory"]))
        (self._folders["pids"] / "pids.max").write_text(str(caps["pids"]))

    def entrances(self) -> list[str]:
        """Files into which a process writes 0 to join."""
        return [str(folder / "cgroup.procs") for folder in self._folders.values()]

    def pids(self) -> list[int]:
        """Processes in the group now."""
        found: set[int] = set()
        for folder in self._folders.values():
            with contextlib.suppress(OSError):
                found.update(int(p) for p in (folder / "cgroup.procs").read_text().split())
        return sorted(found)

    def freeze(self, timeout_s: float = 2.0) -> bool:
        """Stop every process; tell whether all of them stand still."""
        unified = self._folders.get("unified")
        if unified is None:
            return False
        (unified / "cgroup.freeze").write_text("1")
        deadline = time.monotonic() + timeout_s
        while "frozen 1" not in (unified / "cgroup.events").read_text():
            if time.monotonic() > deadline:
                return False
        return True

    def thaw(self) -> None:
        """Let the processes go on."""
        if unified := self._folders.get("unified"):
            (unified / "cgroup.freeze").write_text("0")

    def cpu_ns(self) -> int | None:
        """CPU time of all processes so far, or None if it is not counted here."""
        if account := self._folders.get("cpuacct"):
            return int((account / "cpuacct.usage").read_text())
        if unified := self._folders.get("unified"):
            return 1000 * _counter(unified / "cpu.stat", "usage_usec")
        return None

    def out_of_memory(self) -> bool:
        """Tell whether the kernel killed a process of the group for its memory limit."""
        files = [folder / "memory.oom_control" for folder in self._folders.values()]
        files += [folder / "memory.events" for folder in self._folders.values()]
        return any(_counter(file, "oom_kill") > 0 for file in files)

    def kill(self) -> None:
        """Send SIGKILL to every process, frozen or not, whatever session it has fled to."""
        with contextlib.suppress(OSError):
            if unified := self._folders.get("unified"):
                (unified / "cgroup.kill").write_text("1")
        for pid in self.pids():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)

    def close(self) -> bool:
        """Kill what is left and remove the group; tell whether nothing is left."""
        deadline = time.monotonic() + BUSY_RETRY_S
        while not self._removed():
            if time.monotonic() > deadline:
                return False
            self.kill()
            time.sleep(POLL_S)
        return True

    def _removed(self) -> bool:
        for folder in self._folders.values():
            with contextlib.suppress(OSError):
                folder.rmdir()
        return not any(folder.exists() for folder in self._folders.values())


def _places() -> Iterator[dict[str, Path]]:
    """Where groups may be made, per hierarchy; below our own group, so outer limits still hold."""
    own = _own_paths()
    if (ROOT / "cgroup.controllers").exists():
        yield {"unified": ROOT / own.get("", "")}
        # A group that holds processes can't hand controllers down; the top may.
        yield {"unified": ROOT}
        return
    kinds = [kind for kind in ("memory", "pids", "cpuacct") if (ROOT / kind).is_dir()]
    if not {"memory", "pids"} <= set(kinds):
        return
    parents = {kind: ROOT / kind / own.get(kind, "") for kind in kinds}
    if (ROOT / "unified" / "cgroup.procs").exists():
        parents["unified"] = ROOT / "unified" / own.get("", "")
    yield parents


def _own_paths() -> dict[str, str]:
    paths = {}
    for line in Path("/proc/self/cgroup").read_text().splitlines():
        _, kinds, path = line.split(":", 2)
        paths.update({kind: path.lstrip("/") for kind in kinds.split(",")})
    return paths


def _ours() -> str:
    """How names of groups begin in this PID namespace, in which alone owners can be looked up."""
    return f"{PREFIX}-{os.stat('/proc/self/ns/pid').st_ino}"


def _remove_orphans(parents: Iterable[Path]) -> None:
    """Remove groups of trusted processes that were killed before they could clean up."""
    for folder in [f for parent in parents for f in parent.glob(f"{_ours()}-*-*")]:
        owner = folder.name.rsplit("-", 2)[1]
        if not Path("/proc", owner).exists():
            orphan = Cgroup({"unified": folder})
            orphan.kill()
            orphan._removed()


def _counter(file: Path, name: str) -> int:
    try:
        pairs = dict(line.split()[:2] for line in file.read_text().splitlines())
    except OSError:
        return 0
    return int(pairs.get(name, 0))
