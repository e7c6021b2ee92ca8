"""Become the sandbox: run by `box`, as `python -I -S launch.py SPEC_FD STATUS_FD`.

A process of its own, because what happens here (user ids, mounts, filters) may not happen in
the threaded trusted side, not even between its fork and exec. Standard library only.

Whatever goes wrong before the sandbox stands is written to STATUS_FD as one sentence; the end
of that file without a word means that it stands.
"""

import contextlib
import ctypes
import json
import os
import resource
import select
import shutil
import signal
import struct
import sys
import time
from typing import Any

Spec = dict[str, Any]
LIBC = ctypes.CDLL(None, use_errno=True)
CLONE_NEWNS = 0x20000
MS_NOSUID, MS_NODEV, MS_BIND, MS_REC, MS_PRIVATE = 2, 4, 4096, 16384, 1 << 18
PR_SET_PDEATHSIG, PR_SET_SECCOMP, PR_SET_CHILD_SUBREAPER, PR_SET_NO_NEW_PRIVS = 1, 22, 36, 38
SECCOMP_MODE_FILTER = 2
LANDLOCK_CREATE, LANDLOCK_ADD, LANDLOCK_RESTRICT = 444, 445, 446
LANDLOCK_VERSION_FLAG, LANDLOCK_PATH_BENEATH = 1, 1
FILE_RIGHTS_BY_VERSION = {1: (1 << 13) - 1, 2: (1 << 14) - 1, 3: (1 << 15) - 1, 4: (1 << 15) - 1}
ALL_FILE_RIGHTS = (1 << 16) - 1
RIGHTS_OF_FILES = 1 << 0 | 1 << 1 | 1 << 2 | 1 << 14 | 1 << 15  # the others are for folders
READ_RIGHTS = 1 << 0 | 1 << 2 | 1 << 3  # execute, read files, list folders
TCP_RIGHTS, SCOPES = 3, 3  # bind and connect; abstract sockets and signals
TCP_SINCE, SCOPES_SINCE = 4, 6
KILL_TIMEOUT_S = 10.0


def main() -> None:
    """Read the spec, build the sandbox, and run the command in it."""
    spec_fd, status_fd = int(sys.argv[1]), int(sys.argv[2])
    os.set_inheritable(status_fd, False)
    with os.fdopen(spec_fd, "rb") as file:
        spec = json.loads(file.read())
    try:
        if spec["mode"] == "bubblewrap":
            _become_bubblewrap(spec)
        else:
            _supervise(spec, status_fd)
    except Exception as error:  # noqa: BLE001 - told to the trusted side
        os.write(status_fd, f"{type(error).__name__}: {error}"[:400].encode())
        os._exit(1)


def _become_bubblewrap(spec: Spec) -> None:
    _limit(spec)
    if spec["stage"]:
        _stage(spec["stage"], spec["stage_at"])
    _drop_to(spec["uid"])
    _check(LIBC.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), "no_new_privs")
    os.execve(spec["bubblewrap"], spec["arguments"], dict(os.environ))  # noqa: S606


def _supervise(spec: Spec, status_fd: int) -> None:
    """Run the command in a child, and outlive everything that it starts.

    Daemons become children of this process, so it can find and kill them. It ends them when the
    command has ended, when told to, and when the trusted side has died (its end of the control
    pipe is then closed).
    Its folder for scratch files goes last.
    """
    _check(LIBC.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0), "subreaper")
    child = os.fork()
    if child == 0:
        os.setsid()
        _confine(spec, status_fd)
    os.close(status_fd)
    for fd in (0, 1, 2, *spec["pass_fds"]):
        os.close(fd)
    status = _wait_for(child, spec["control_fd"])
    gone = _kill_all(spec["uid"])
    shutil.rmtree(spec["scratch"], ignore_errors=True)
    if gone:
        with contextlib.suppress(OSError):
            os.write(spec["control_fd"], b"gone")
    code = -signal.SIGKILL if status is None else os.waitstatus_to_exitcode(status)
    os._exit(code if code >= 0 else 128 - code)


def _confine(spec: Spec, status_fd: int) -> None:
    try:
        os.close(spec["control_fd"])
        _limit(spec)
        _drop_to(spec["uid"])
        _check(LIBC.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), "no_new_privs")
        _check(LIBC.prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0), "parent death signal")
        os.chdir(spec["cwd"])
        if spec["mode"] == "landlock":
            _restrict_files(spec["readable"], spec["writable"])
            _filter_calls(bytes.fromhex(spec["seccomp"]))
        os.execvpe(spec["argv"][0], spec["argv"], spec["env"])  # noqa: S606
    except BaseException as error:  # noqa: BLE001 - a forked child must never return
        os.write(status_fd, f"{type(error).__name__}: {error}"[:400].encode())
        os._exit(1)


def _limit(spec: Spec) -> None:
    for entrance in spec["cgroup_entrances"]:
        with open(entrance, "w") as file:
            file.write("0")
    for name, value in spec["rlimits"].items():
        kind = getattr(resource, name)
        hard = resource.getrlimit(kind)[1]
        value = value if hard == resource.RLIM_INFINITY else min(value, hard)
        resource.setrlimit(kind, (value, value))


def _drop_to(uid: int | None) -> None:
    if uid is not None:
        os.setgroups([])
        os.setresgid(uid, uid, uid)
        os.setresuid(uid, uid, uid)


def _stage(sources: list[str], folder: str) -> None:
    """Mount each source at FOLDER/0, /1, ... where any user id can reach it.

    The sources may lie below folders that only root may enter. The mounts are seen by this
    process and its children only.
    """
    _check(LIBC.unshare(CLONE_NEWNS), "private mount namespace")
    _mount("none", "/", None, MS_REC | MS_PRIVATE)
    opened = [os.open(source, os.O_PATH | os.O_CLOEXEC) for source in sources]
    _mount("openrebench", folder, "tmpfs", MS_NOSUID | MS_NODEV, "size=1m,mode=755")
    for number, fd in enumerate(opened):
        target = f"{folder}/{number}"
        if os.path.isdir(f"/proc/self/fd/{fd}"):
            os.mkdir(target, 0o755)
        else:
            os.close(os.open(target, os.O_CREAT | os.O_WRONLY, 0o644))
        _mount(f"/proc/self/fd/{fd}", target, None, MS_BIND | MS_REC)
        os.close(fd)


def _mount(source: str, target: str, kind: str | None, flags: int, data: str | None = None) -> None:
    texts = [None if text is None else text.encode() for text in (source, target, kind, data)]
    _check(LIBC.mount(*texts[:3], ctypes.c_ulong(flags), texts[3]), f"mount {target}")


def _restrict_files(readable: list[str], writable: list[str]) -> None:
    version = LIBC.syscall(LANDLOCK_CREATE, None, 0, LANDLOCK_VERSION_FLAG)
    if version < 1:
        raise OSError("this kernel has no Landlock")
    rights = FILE_RIGHTS_BY_VERSION.get(version, ALL_FILE_RIGHTS)
    handled = struct.pack(
        "QQQ",
        rights,
        TCP_RIGHTS if version >= TCP_SINCE else 0,
        SCOPES if version >= SCOPES_SINCE else 0,
    )
    size = 8 if version < TCP_SINCE else 16 if version < SCOPES_SINCE else 24
    rules = LIBC.syscall(LANDLOCK_CREATE, ctypes.c_char_p(handled), size, 0)
    _check(min(rules, 0), "landlock")
    for paths, granted in ((readable, READ_RIGHTS), (writable, rights)):
        for path in paths:
            _allow(rules, path, granted & rights)
    _check(LIBC.syscall(LANDLOCK_RESTRICT, rules, 0), "landlock")
    os.close(rules)


def _allow(rules: int, path: str, granted: int) -> None:
    try:
        fd = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except FileNotFoundError:
        return
    if not os.path.isdir(path):
        granted &= RIGHTS_OF_FILES
    rule = ctypes.c_char_p(struct.pack("=Qi", granted, fd))
    _check(LIBC.syscall(LANDLOCK_ADD, rules, LANDLOCK_PATH_BENEATH, rule, 0), f"landlock {path}")
    os.close(fd)


def _filter_calls(program: bytes) -> None:
    if not program:
        return
    steps = ctypes.create_string_buffer(program, len(program))
    header = struct.pack("HxxxxxxQ", len(program) // 8, ctypes.addressof(steps))
    header_at = ctypes.c_char_p(header)
    _check(LIBC.prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, header_at, 0, 0), "seccomp")


def _wait_for(child: int, control_fd: int) -> int | None:
    """Wait until the child ends and give its status, or None if it was not the first to end."""
    watch = select.poll()
    watch.register(os.pidfd_open(child), select.POLLIN)
    watch.register(control_fd, select.POLLIN)
    ended = {fd for fd, _ in watch.poll()}
    if control_fd in ended:
        return None
    return os.waitpid(child, 0)[1]


def _kill_all(uid: int | None) -> bool:
    """Kill every descendant until none is left; tell whether that was reached."""
    deadline = time.monotonic() + KILL_TIMEOUT_S
    while time.monotonic() < deadline:
        if uid is not None:
            _kill_as(uid)
        for pid in _children():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        try:
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        except ChildProcessError:
            return True
        time.sleep(0.002)
    return False


def _kill_as(uid: int) -> None:
    """Kill all processes of a user id that belongs to this run alone, in one call."""
    killer = os.fork()
    if killer == 0:
        os.setresuid(uid, uid, uid)
        with contextlib.suppress(ProcessLookupError):
            os.kill(-1, signal.SIGKILL)
        os._exit(0)
    os.waitpid(killer, 0)


def _children() -> list[int]:
    """Direct children: a killed child's own children move up to this process."""
    me, found = os.getpid(), []
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            with contextlib.suppress(OSError), open(f"/proc/{entry}/stat") as file:
                if int(file.read().rsplit(")", 1)[1].split()[1]) == me:
                    found.append(int(entry))
    return found


def _check(result: int, what: str) -> None:
    if result != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{what}: {os.strerror(number)}")


if __name__ == "__main__":
    main()
