"""Build what a box needs on this side, and start its launcher."""

import contextlib
import json
import os
import secrets
import select
import shutil
import socket
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import cache
from io import FileIO
from pathlib import Path

from openrebench.errors import RunnerUnavailable
from openrebench.isolation import layout, seccomp
from openrebench.isolation.cgroup import Cgroup
from openrebench.isolation.layout import BoxSpec
from openrebench.isolation.runner import IsolationMode

LAUNCHER = Path(__file__).with_name("launch.py")
UIDS = range(1_600_000_000, 2_000_000_000)  # nobody's, on any sane machine
SENTENCE_BYTES = 4096
START_TIMEOUT_S = 30.0


@dataclass(kw_only=True)
class Parts:
    """What a running box holds on this side and has to give back.

    Args:
        process: The launcher, or bubblewrap, which it became.
        cgroup: Its control group, if it has one.
        uid: Its own user id; None if it shares ours.
        init_fd: Watches the namespace's first process, which outlives all others in it.
        control: Closing it tells a supervisor to end everything; it then says `gone`.
        output: Reading end of standard output and error, if captured.
        places: Paths inside that are elsewhere on the host.
    """

    process: subprocess.Popen[bytes]
    cgroup: Cgroup | None
    uid: int | None
    init_fd: int | None = None
    control: socket.socket | None = None
    output: FileIO | None = None
    places: Mapping[str, str] = field(default_factory=dict)


@dataclass(kw_only=True)
class _Launch:
    """A launcher about to be started: its spec, and descriptors that it gets and we close."""

    box: BoxSpec
    cgroup: Cgroup | None
    uid: int | None
    theirs: contextlib.ExitStack
    undo: contextlib.ExitStack
    pass_fds: list[int] = field(default_factory=list)
    spec: dict[str, object] = field(default_factory=dict)

    def give(self, fd: int) -> int:
        """Hand a descriptor to the launcher; our copy is closed once it runs."""
        self.theirs.callback(os.close, fd)
        self.pass_fds.append(fd)
        return fd

    def file(self, content: bytes) -> int:
        """Give the launcher a file with this content."""
        fd = os.memfd_create("openrebench", os.MFD_CLOEXEC)
        with os.fdopen(os.dup(fd), "wb") as writer:
            writer.write(content)
        os.lseek(fd, 0, os.SEEK_SET)
        return self.give(fd)

    def pipe(self) -> FileIO:
        """Give the launcher a pipe to write to; returns our reading end, then `pass_fds[-1]`."""
        reading, writing = os.pipe2(os.O_CLOEXEC)
        self.give(writing)
        file = FileIO(reading)
        self.undo.callback(file.close)
        return file


def spawn(box: BoxSpec) -> Parts:
    """Start a box's processes; on return the sandbox stands.

    Raises:
        RunnerUnavailable: It could not be built; nothing of it is left.
    """
    uid = None
    if os.getuid() == 0:  # in every mode: as root a submission could end the whole machine
        uid = box.uid if box.uid is not None else secrets.choice(UIDS)
        _give_writable_binds(box, uid)
    with contextlib.ExitStack() as undo, contextlib.ExitStack() as theirs:
        cgroup = _cgroup(box)
        if cgroup is not None:
            undo.callback(cgroup.close)
        launch = _Launch(box=box, cgroup=cgroup, uid=uid, theirs=theirs, undo=undo)
        launch.spec.update(
            rlimits=layout.rlimits(box, uid=uid, capped=cgroup is not None),
            cgroup_entrances=cgroup.entrances() if cgroup else [],
            uid=uid,
        )
        if box.mode in layout.NAMESPACE_MODES:
            parts = _spawn_bubblewrap(launch)
        else:
            parts = _spawn_supervised(launch)
        undo.pop_all()
        return parts


def outer_env() -> dict[str, str]:
    """The launcher's environment. Empty: bubblewrap's own is what /proc/1/environ shows inside."""
    return {}


def translate(text: str, places: Mapping[str, str]) -> str:
    """Rewrite a path inside to where it is on the host, if it is one that has moved."""
    for target, source in places.items():
        if text == target or text.startswith(target + "/"):
            return source + text[len(target) :]
    return text


def _cgroup(box: BoxSpec) -> Cgroup | None:
    if box.mode in (IsolationMode.BUBBLEWRAP, IsolationMode.SUBPROCESS):
        return None
    limits = box.limits
    processes = limits.processes + layout.SPARE_PROCESSES
    cgroup = Cgroup.create(memory_bytes=limits.memory_bytes, processes=processes)
    if cgroup is None and box.mode is IsolationMode.BUBBLEWRAP_CGROUP:
        raise RunnerUnavailable(
            "no control group can be made here; that needs root and a writable /sys"
        )
    return cgroup


def _spawn_bubblewrap(launch: _Launch) -> Parts:
    box, program = launch.box, layout.bubblewrap_path()
    if program is None:
        raise RunnerUnavailable("bubblewrap is missing; run `apt-get install bubblewrap`")
    inside = launch.uid if launch.uid is not None else os.getuid()
    home = layout.environment(box)["HOME"]
    binds = layout.all_binds(box)
    sources = [str(bind.source) for bind in binds]
    staged = launch.uid is not None
    reached = [f"{layout.STAGE}/{k}" for k in range(len(binds))] if staged else sources
    info = launch.pipe()
    arguments = ["--info-fd", str(launch.pass_fds[-1])]
    arguments += layout.bubblewrap_arguments(
        box,
        list(zip(reached, binds, strict=True)),
        uid=inside,
        seccomp_fd=launch.file(seccomp.program(namespaces=True, netlink=bool(box.devices))),
        passwd_fd=launch.file(f"worker:x:{inside}:{inside}::{home}:/bin/sh\n".encode()),
    )
    options = launch.file("\0".join([*arguments, ""]).encode())
    launch.spec.update(
        mode="bubblewrap",
        bubblewrap=program,
        arguments=["bwrap", "--args", str(options), "--", *box.argv],
        stage=sources if staged else [],
        stage_at=layout.STAGE,
    )
    parts = _run_launcher(launch)
    parts.init_fd = _first_process(parts, _read_all(info))
    return parts


def _first_process(parts: Parts, info: bytes) -> int:
    """Open the namespace's first process, whose id bubblewrap has told us."""
    with contextlib.suppress(ValueError, ProcessLookupError):
        return os.pidfd_open(json.loads(info)["child-pid"])
    parts.process.kill()
    parts.process.wait()
    said = b""
    if parts.output is not None:
        os.set_blocking(parts.output.fileno(), False)
        said = parts.output.read(SENTENCE_BYTES) or b""
    first = said.decode("utf-8", "replace").strip().partition("\n")[0]
    raise RunnerUnavailable(f"bubblewrap did not start: {first or 'it gave no reason'}")


def _spawn_supervised(launch: _Launch) -> Parts:
    box = launch.box
    binds = layout.all_binds(box)
    scratch = Path(tempfile.mkdtemp(prefix="openrebench-box-"))
    launch.undo.callback(shutil.rmtree, scratch, ignore_errors=True)
    places = {bind.target: str(bind.source) for bind in binds}
    for number, folder in enumerate((layout.TMP, *box.tmpfs)):
        places[folder] = str(scratch / str(number))
        (scratch / str(number)).mkdir()
    if launch.uid is not None:
        _give(scratch, launch.uid)
    ours, supervisors = socket.socketpair()
    launch.undo.callback(ours.close)
    readable, writable = layout.landlock_paths(box, binds, scratch)
    launch.spec.update(
        mode=str(box.mode),
        argv=[translate(word, places) for word in box.argv],
        env={name: translate(value, places) for name, value in layout.environment(box).items()},
        cwd=translate(box.cwd, places),
        scratch=str(scratch),
        readable=readable,
        writable=writable,
        control_fd=launch.give(supervisors.detach()),
        pass_fds=box.pass_fds,
    )
    if box.mode is IsolationMode.LANDLOCK:
        launch.spec["seccomp"] = seccomp.program(namespaces=False).hex()
    parts = _run_launcher(launch)
    parts.control, parts.places = ours, places
    return parts


def _run_launcher(launch: _Launch) -> Parts:
    """Start the launcher and wait until it has become the sandbox."""
    box = launch.box
    output = launch.pipe() if box.stdout is None else None
    stdout = launch.pass_fds.pop() if box.stdout is None else box.stdout
    status = launch.pipe()
    spec_fd = launch.file(json.dumps(launch.spec).encode())
    status_fd = launch.pass_fds[-2]
    process = _from_lasting_thread(
        lambda: subprocess.Popen(
            [sys.executable, "-I", "-S", str(LAUNCHER), str(spec_fd), str(status_fd)],
            stdin=subprocess.DEVNULL if box.stdin is None else box.stdin,
            stdout=stdout,
            stderr=stdout,
            env=outer_env(),
            cwd="/",
            pass_fds=[*launch.pass_fds, *box.pass_fds],
            start_new_session=True,
        )
    )
    launch.theirs.close()
    problem = _read_all(status)
    if problem:
        process.kill()
        process.wait()
        raise RunnerUnavailable(f"the sandbox could not be built: {problem.decode()}")
    return Parts(process=process, cgroup=launch.cgroup, uid=launch.uid, output=output)


@cache
def _lasting_thread() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(max_workers=1, thread_name_prefix="openrebench-spawn")


def _from_lasting_thread(
    make: Callable[[], subprocess.Popen[bytes]],
) -> subprocess.Popen[bytes]:
    """Start a process from a thread that lives as long as we do.

    A process that asked to die with its parent dies with the thread that started it.
    """
    return _lasting_thread().submit(make).result()


def _read_all(pipe: FileIO) -> bytes:
    """Read a pipe to its end, at most for as long as a sandbox may take to start."""
    content = b""
    with pipe:
        while select.select([pipe], [], [], START_TIMEOUT_S)[0]:
            chunk = pipe.read(SENTENCE_BYTES)
            if not chunk:
                break
            content = (content + chunk)[:SENTENCE_BYTES]
    return content


def _give_writable_binds(box: BoxSpec, uid: int) -> None:
    for bind in box.binds:
        if bind.writable:
            _give(bind.source, uid)


def _give(folder: Path, uid: int) -> None:
    """Hand a folder and all below to a user; never through links, never files known elsewhere."""
    os.chown(folder, uid, uid)
    for _, folders, files, fd in os.fwalk(folder):
        for name in (*folders, *files):
            facts = os.stat(name, dir_fd=fd, follow_symlinks=False)
            if name in folders or facts.st_nlink == 1:
                os.chown(name, uid, uid, dir_fd=fd, follow_symlinks=False)
