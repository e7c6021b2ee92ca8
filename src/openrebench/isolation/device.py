"""What scores are measured on: names of devices, and one timed score at a time."""

import contextlib
import fcntl
import os
import platform
import re
import shutil
import stat
import subprocess
import tempfile
from collections.abc import Iterator
from contextvars import ContextVar
from functools import cache
from pathlib import Path
from typing import NamedTuple

from pydantic import BaseModel, ConfigDict

LOCK_NAME = "openrebench-score.lock"
LOCK_FOLDER = Path("/run/lock")
QUERY_TIMEOUT_S = 20
VISIBLE = "CUDA_VISIBLE_DEVICES"  # indices, or beginnings of UUIDs
_holds_permit: ContextVar[bool] = ContextVar("openrebench_holds_permit", default=False)


class Device(BaseModel):
    """Hardware that scores depend on.

    Attributes:
        slug: Name fit for files; equal on equal hardware, and as many GPUs of it.
        available: Whether this machine has such a device.
        cores: CPU cores that this process may use.
        gpu: Name of the first GPU, empty for a CPU.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    slug: str
    available: bool
    cpu: str
    cores: int
    memory_gib: float
    gpu: str = ""
    gpus: int = 0
    driver: str = ""

    def facts(self) -> dict[str, str | int | float]:
        """Give the facts for a record; what does not apply is left out."""
        stored = self.model_dump(exclude={"slug", "available"})
        return {name: value for name, value in stored.items() if value}


@cache
def device_fingerprint(kind: str) -> Device:
    """Describe this machine's CPU, or its GPU with the CPU beside it.

    Args:
        kind: `cpu` or `cuda`.
    """
    cpu, cores, memory_gib = _cpu_model(), len(os.sched_getaffinity(0)), _memory_gib()
    if kind == "cpu":
        slug = _slug(f"{cpu} {cores} cores")
        return Device(slug=slug, available=True, cpu=cpu, cores=cores, memory_gib=memory_gib)
    gpus = visible_gpus()
    first = gpus[0] if gpus else Gpu("", "", "no GPU", "")
    several = f"{len(gpus)} " if len(gpus) > 1 else ""
    return Device(
        slug=_slug(several + first.name),
        available=bool(gpus),
        cpu=cpu,
        cores=cores,
        memory_gib=memory_gib,
        gpu=first.name if gpus else "",
        gpus=len(gpus),
        driver=first.driver,
    )


class Permit:
    """The machine's one permit for timed scores, taken by `permit_if_free`."""

    def __init__(self, fd: int) -> None:
        self._fd = fd

    @contextlib.contextmanager
    def used(self) -> Iterator[None]:
        """Let `exclusive` pass in this context: the permit is ours."""
        token = _holds_permit.set(True)
        try:
            yield
        finally:
            _holds_permit.reset(token)

    def close(self) -> None:
        """Give it back."""
        os.close(self._fd)


def permit_if_free() -> Permit | None:
    """Take the permit for timed scores, unless another process has it; the caller closes it."""
    fd = _open_lock(_lock_path())
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(fd)
        return None
    return Permit(fd)


@contextlib.contextmanager
def exclusive() -> Iterator[None]:
    """Hold the machine's one permit for timed scores; waits while another process has it."""
    if _holds_permit.get():
        yield
        return
    fd = _open_lock(_lock_path())
    try:
        fcntl.flock(fd, fcntl.LOCK_EX)
        yield
    finally:
        os.close(fd)


def _lock_path() -> Path:
    writable = LOCK_FOLDER.is_dir() and os.access(LOCK_FOLDER, os.W_OK)
    return (LOCK_FOLDER if writable else Path(tempfile.gettempdir())) / LOCK_NAME


def _open_lock(path: Path) -> int:
    """Open the lock file, which all users share; a planted link or device is refused.

    O_CREAT is used only where the file is missing: the kernel may refuse it for somebody
    else's file in a folder that everybody can write to.
    """
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK
    try:
        fd = os.open(path, flags)
    except FileNotFoundError:
        fd = os.open(path, flags | os.O_CREAT, 0o444)
    if not stat.S_ISREG(os.fstat(fd).st_mode):
        os.close(fd)
        raise OSError(f"{path} is not a regular file")
    return fd


def _cpu_model() -> str:
    with contextlib.suppress(OSError):
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            key, _, value = line.partition(":")
            if key.strip() in {"model name", "Model"}:
                return " ".join(value.split())
    return platform.processor() or platform.machine()


def _memory_gib() -> float:
    total = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return round(total / 2**30, 1)


def processes_on_gpu() -> set[int]:
    """Ids of the processes that compute on our GPUs now, as far as this machine shows them."""
    ours = {gpu.uuid for gpu in visible_gpus()}
    rows = _asked("--query-compute-apps=pid,gpu_uuid", 2)
    return {int(pid) for pid, uuid in rows if pid.isdigit() and uuid in ours}


class Gpu(NamedTuple):
    """A GPU, as nvidia-smi names it."""

    number: str
    uuid: str
    name: str
    driver: str


def visible_gpus() -> list[Gpu]:
    """List the GPUs that are ours to use: all, or those that CUDA_VISIBLE_DEVICES names."""
    found = [Gpu(*row) for row in _asked("--query-gpu=index,uuid,name,driver_version", 4)]
    if VISIBLE not in os.environ:
        return found
    wanted = [name.strip() for name in os.environ[VISIBLE].split(",") if name.strip()]
    return [g for g in found if g.number in wanted or g.uuid.startswith(tuple(wanted))]


def _asked(query: str, columns: int) -> list[list[str]]:
    """Rows of what nvidia-smi says; none without it."""
    program = shutil.which("nvidia-smi")
    if program is None:
        return []
    try:
        said = subprocess.run(
            [program, query, "--format=csv,noheader"],
            capture_output=True,
            text=True,
            timeout=QUERY_TIMEOUT_S,
            check=True,
        ).stdout
    except (OSError, subprocess.SubprocessError):
        return []
    rows = [[cell.strip() for cell in line.split(",")] for line in said.splitlines()]
    return [row for row in rows if len(row) == columns]


def _slug(text: str) -> str:
    plain = re.sub(r"\((r|tm)\)|cpu|@.*?ghz|processor", " ", text.lower())
    return re.sub(r"[^a-z0-9]+", "-", plain).strip("-")
