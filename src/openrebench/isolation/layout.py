"""What untrusted code sees of the machine: which files, at which paths, with what environment."""

import os
import platform
import resource
import shutil
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from openrebench.errors import RunnerUnavailable
from openrebench.isolation.cuda import cuda_switches
from openrebench.isolation.runner import IsolationMode, Limits

WORKER_ENV_VARIABLE = "OPENREBENCH_WORKER_ENV"
WORKER_ENV = "/opt/env"
SEARCH_PATH = f"{WORKER_ENV}/bin:/usr/local/cuda/bin:/usr/bin:/bin"
SYSTEM_FOLDERS = ("/lib", "/lib64", "/lib32", "/bin", "/sbin")
# Of the host's /etc only where to find libraries and compilers; nothing about the host.
SYSTEM_FILES = ("/etc/ld.so.cache", "/etc/alternatives")
MACHINE_FACTS = ("/proc/self", "/proc/cpuinfo", "/proc/meminfo", "/sys/devices/system/cpu")
RANDOM_AND_ZERO = ("/dev/urandom", "/dev/random", "/dev/zero", "/dev/full")
TMP = "/tmp"  # noqa: S108 - the sandbox's own
STAGE = "/tmp"  # noqa: S108 - covered by a mount that only the launcher sees
OPEN_FILES = 4096
SPARE_PROCESSES = 8  # bubblewrap's own
NAMESPACE_MODES = (IsolationMode.BUBBLEWRAP_CGROUP, IsolationMode.BUBBLEWRAP)


@dataclass(frozen=True, kw_only=True)
class Bind:
    """A file or folder of the host, and where it is inside."""

    source: Path
    target: str
    writable: bool = False


@dataclass(frozen=True, kw_only=True)
class BoxSpec:
    """One sandbox and the command that runs in it.

    Paths inside are those of the namespace modes. In the other modes a part of `argv`, a value of
    `env` or `cwd` that begins with the target of a bind or of a tmpfs is rewritten to the
    place on the host.

    Args:
        argv: Command; looked up on the worker environment's PATH.
        limits: Caps on memory, processes, output and /tmp; timeouts are the caller's business.
        binds: What of the host is visible besides the system and the worker environment. As
            root, writable ones are given to the sandbox's user.
        tmpfs: Further empty writable folders of at most `tmp_bytes`.
        env: Added to the minimal environment; of ours only `cuda_switches` are passed, and only
            with devices.
        pass_fds: Descriptors that the command gets, under the same numbers.
        stdin: Descriptor to read from; nothing if None.
        stdout: Descriptor for standard output and error; captured and capped if None.
        uid: User id when started by root; a fresh random one if None.
        as_pid_1: The command itself is process 1 of its namespace (namespace modes).
        devices: Device files it may use.
    """

    argv: tuple[str, ...]
    mode: IsolationMode
    limits: Limits
    binds: tuple[Bind, ...] = ()
    tmpfs: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict)
    cwd: str = TMP
    pass_fds: tuple[int, ...] = ()
    stdin: int | None = None
    stdout: int | None = None
    uid: int | None = None
    as_pid_1: bool = False
    devices: tuple[str, ...] = ()


def worker_env() -> Path:
    """Find the environment that untrusted code gets; it must not contain openrebench.

    Raises:
        RunnerUnavailable: It was not set up.
    """
    env = Path(os.environ.get(WORKER_ENV_VARIABLE) or Path(sys.prefix, "worker"))
    if not (env / "bin" / "python").exists():
        raise RunnerUnavailable(
            f"no worker environment at {env}; run `make setup`, or set {WORKER_ENV_VARIABLE}"
        )
    return env.absolute()


def _interpreter_folders(env: Path) -> list[Path]:
    """Where the worker environment's Python really lies, if not below /usr."""
    real = Path(os.path.realpath(env / "bin" / "python")).parents[1]
    found = {real}
    for line in (env / "pyvenv.cfg").read_text().splitlines():
        key, _, value = line.partition("=")
        if key.strip() == "home":
            found.add(Path(value.strip()).parent)
    return sorted(f for f in found if not f.is_relative_to("/usr") and f != Path("/"))


def all_binds(spec: BoxSpec) -> list[Bind]:
    """The spec's binds, and what every box sees besides the system's own folders."""
    env = worker_env()
    interpreters = [Bind(source=f, target=str(f)) for f in _interpreter_folders(env)]
    return [Bind(source=env, target=WORKER_ENV), *interpreters, *spec.binds]


def environment(spec: BoxSpec) -> dict[str, str]:
    """The whole environment of the command, with paths as they are inside."""
    return {
        "PATH": SEARCH_PATH,
        "HOME": TMP,
        "TMPDIR": TMP,
        "USER": "worker",
        "LANG": "C.UTF-8",
        **(cuda_switches() if spec.devices else {}),
        **spec.env,
    }


def rlimits(spec: BoxSpec, *, uid: int | None, capped: bool) -> dict[str, int]:
    """Limits for each process.

    Args:
        spec: The box.
        uid: Its own user id, or None if it shares ours.
        capped: Whether a control group caps the tree's memory; then no process needs a cap.
    """
    sharing = 0 if uid is not None or capped else _threads_of(os.getuid())
    found = {
        "RLIMIT_CORE": 0,
        "RLIMIT_NOFILE": OPEN_FILES,
        "RLIMIT_FSIZE": max(spec.limits.tmp_bytes, spec.limits.memory_bytes),
    }
    if uid is not None or not capped:
        found["RLIMIT_NPROC"] = sharing + spec.limits.processes + SPARE_PROCESSES
    if not capped and not spec.devices:  # CUDA maps far more than it uses
        found["RLIMIT_DATA"] = spec.limits.memory_bytes
    return found


def _threads_of(uid: int) -> int:
    """Count a user's threads, as RLIMIT_NPROC does."""
    total = 0
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if process.stat().st_uid == uid:
                total += len(os.listdir(process / "task"))
        except OSError:
            continue
    return total


def bubblewrap_arguments(
    spec: BoxSpec, binds: list[tuple[str, Bind]], *, uid: int, seccomp_fd: int, passwd_fd: int
) -> list[str]:
    """Options of bubblewrap, to be passed through a file so that no process list shows them.

    Args:
        spec: The box.
        binds: Source as bubblewrap reaches it, and the bind.
        uid: User id inside and outside.
        seccomp_fd: File holding the filter.
        passwd_fd: File that becomes /etc/passwd.
    """
    size = ["--size", str(spec.limits.tmp_bytes)]
    arguments = ["--unshare-all", "--unshare-user", "--disable-userns", "--cap-drop", "ALL"]
    arguments += ["--die-with-parent", "--new-session", "--clearenv", "--hostname", "worker"]
    arguments += ["--as-pid-1"] if spec.as_pid_1 else []
    arguments += ["--uid", str(uid), "--gid", str(uid), "--seccomp", str(seccomp_fd)]
    arguments += _system()
    arguments += ["--file", str(passwd_fd), "/etc/passwd"]
    arguments += ["--proc", "/proc", "--dev", "/dev"]
    for device in spec.devices:
        arguments += ["--dev-bind", device, device]
    arguments += [*size, "--tmpfs", "/dev/shm", "--remount-ro", "/dev"]  # noqa: S108
    for folder in (TMP, *spec.tmpfs):
        arguments += [*size, "--tmpfs", folder]
    for source, bind in binds:
        arguments += ["--bind" if bind.writable else "--ro-bind", source, bind.target]
    for name, value in environment(spec).items():
        arguments += ["--setenv", name, value]
    return [*arguments, "--remount-ro", "/", "--chdir", spec.cwd]


def _system() -> list[str]:
    arguments = ["--ro-bind", "/usr", "/usr"]
    for folder in SYSTEM_FOLDERS:
        if os.path.islink(folder):
            arguments += ["--symlink", os.readlink(folder), folder]
        elif os.path.isdir(folder):
            arguments += ["--ro-bind", folder, folder]
    for path in SYSTEM_FILES:
        arguments += ["--ro-bind-try", path, path]
    return arguments


def landlock_paths(spec: BoxSpec, binds: list[Bind], scratch: Path) -> tuple[list[str], list[str]]:
    """Paths that may be read and paths that may be written, in the mode without namespaces."""
    readable = ["/usr", *SYSTEM_FOLDERS, *SYSTEM_FILES, *MACHINE_FACTS, *RANDOM_AND_ZERO]
    readable += [str(bind.source) for bind in binds if not bind.writable]
    writable = [str(bind.source) for bind in binds if bind.writable]
    return readable, [*writable, str(scratch), "/dev/null", *spec.devices]


def bubblewrap_path() -> str | None:
    """Where bubblewrap is installed, looked for in the system's folders only."""
    return shutil.which("bwrap", path="/usr/bin:/usr/local/bin:/bin")


def landlock_supported() -> bool:
    """Tell whether this machine's call numbers and Python's limits fit the landlock mode."""
    return platform.machine() in {"x86_64", "aarch64"} and hasattr(resource, "RLIMIT_NPROC")
