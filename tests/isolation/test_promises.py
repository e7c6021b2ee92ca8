"""One hostile program for each promise, in each mode."""

import os
import socket
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import openrebench
from openrebench.isolation import box
from openrebench.isolation.layout import Bind, BoxSpec
from openrebench.isolation.runner import IsolationMode, Limits

NAMESPACES = {IsolationMode.BUBBLEWRAP, IsolationMode.BUBBLEWRAP_CGROUP}


def test_no_network_and_no_sockets_outside(inside, mode) -> None:
    with socket.socket() as tcp, socket.socket(socket.AF_UNIX) as unix:
        tcp.bind(("127.0.0.1", 0))
        name = f"openrebench-test-{os.getpid()}"
        unix.bind(f"\0{name}")
        for listener in (tcp, unix):
            listener.listen()
        program = f"""
            import socket
            for family, address in (
                (socket.AF_INET, ("127.0.0.1", {tcp.getsockname()[1]})),
                (socket.AF_INET, ("1.1.1.1", 53)),
                (socket.AF_UNIX, "\\0{name}"),
            ):
                try:
                    s = socket.socket(family)
                    s.settimeout(1)
                    s.connect(address)
                    print("REACHED", address)
                except OSError as error:
                    print(error.strerror)
        """
        ended = inside(program, mode)
    assert ended.code == 0 and "REACHED" not in ended.output


def test_no_files_of_the_host(inside, mode) -> None:
    with tempfile.NamedTemporaryFile(prefix="canary", mode="w") as file:
        file.write("CANARY")
        file.flush()
        os.chmod(file.name, 0o644)
        program = f"""
            import glob, os
            for path in ({file.name!r}, "/etc/passwd", "/etc/hostname", "/proc/1/environ",
                         *glob.glob("/home/*/*"), *glob.glob("/root/*")):
                try:
                    text = open(path, "rb").read()
                    print("READ", path, b"CANARY" in text or b"root" in text)
                except OSError as error:
                    print(error.strerror)
        """
        ended = inside(program, mode)
    assert ended.code == 0 and "True" not in ended.output
    assert f"READ {file.name}" not in ended.output


def test_nothing_of_ours_can_be_imported_or_read(inside, mode) -> None:
    package = Path(openrebench.__file__).parent
    hidden = package / "environments/prefix_sum/hidden/reference/solution.py"
    assert hidden.is_file()
    program = f"""
        import os, site
        site.main()
        try:
            import openrebench
            print("IMPORTED")
        except ImportError as error:
            print(error)
        try:
            print("READ", open({str(hidden)!r}).read(10))
        except OSError as error:
            print(error.strerror)
        for folder, names, _ in os.walk("/"):
            names[:] = [n for n in names if n not in ("proc", "sys")]
            if "openrebench" in names:
                print("SEEN", os.path.join(folder, "openrebench"))
    """
    ended = inside(program, mode)
    for found in ("IMPORTED", "READ", "SEEN"):
        assert found not in ended.output
    assert "No module named 'openrebench'" in ended.output


def test_no_other_process_can_be_read_or_signalled(inside, mode, monkeypatch) -> None:
    monkeypatch.setenv("API_KEY", "SECRET-4711")
    program = f"""
        import os, signal
        for pid in [*map(int, filter(str.isdigit, os.listdir("/proc"))), {os.getpid()}]:
            if pid == os.getpid():
                continue
            for what in ("environ", "mem"):
                try:
                    with open(f"/proc/{{pid}}/{{what}}", "rb") as file:
                        if what == "environ" and b"SECRET" in file.read():
                            print("LEAK", pid)
                        if what == "mem" and pid == {os.getpid()}:
                            print("MEMORY", pid)
                except OSError:
                    pass
        try:
            os.kill({os.getpid()}, 0)
            print("SIGNAL")
        except OSError as error:
            print(error.strerror)
        print(dict(os.environ))
    """
    ended = (
        inside(program, mode)
        if mode in NAMESPACES
        else inside(program.replace('os.listdir("/proc")', "[]"), mode)
    )
    for found in ("LEAK", "MEMORY", "SIGNAL", "SECRET"):
        assert found not in ended.output, ended.output
    assert ended.code == 0


DAEMONS = """
    import os, signal, time
    for _ in range(40):
        if os.fork() == 0:
            os.setsid()
            if os.fork():
                os._exit(0)
            for name in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
                signal.signal(name, signal.SIG_IGN)
            os.closerange(0, 3)
            while True:
                time.sleep(1)
        os.wait()
    print("forked", flush=True)
"""


@pytest.mark.parametrize("stays", [False, True], ids=["ends", "stays"])
def test_forty_daemons_are_gone(inside, mode, stays) -> None:
    program = DAEMONS + ("    time.sleep(60)\n" if stays else "")
    limits = Limits(memory_bytes=1 << 30, processes=100)
    ended = inside(program, mode, limits=limits, timeout_s=1 if stays else 20)
    assert "forked" in ended.output
    assert ended.code == (None if stays else 0)


def test_fork_bomb_is_capped(inside, mode) -> None:
    program = """
        import os, time
        n = 0
        try:
            while n < 3000:
                if os.fork() == 0:
                    time.sleep(30)
                    os._exit(0)
                n += 1
        except OSError as error:
            print("stopped", n, error.strerror)
    """
    ended = inside(program, mode, limits=Limits(memory_bytes=1 << 30, processes=30))
    word, count, *_ = ended.output.split()
    assert word == "stopped" and int(count) <= 40


def test_memory_bomb_is_ended(inside, mode) -> None:
    program = """
        kept = []
        for _ in range(64):
            kept.append(bytearray(64 << 20))
        print("GOT IT ALL")
    """
    ended = inside(program, mode, limits=Limits(memory_bytes=256 << 20))
    assert "GOT IT ALL" not in ended.output and ended.code != 0
    assert ended.box.out_of_memory or "MemoryError" in ended.output


def test_ten_gigabytes_of_output_end_fast(inside, mode) -> None:
    started = time.monotonic()
    program = """
        import os
        block = b"x" * (1 << 20)
        for _ in range(10_000):
            os.write(1, block)
        os.write(1, b"ALL WRITTEN")
    """
    ended = inside(program, mode)
    assert ended.box.flooded and time.monotonic() - started < 5
    assert len(ended.output) == 1 << 20


def test_no_way_to_further_rights(inside, mode) -> None:
    program = """
        import ctypes, os
        libc = ctypes.CDLL(None, use_errno=True)
        attempts = {
            "unshare": lambda: libc.unshare(0x10000000),
            "mount": lambda: libc.mount(b"none", b"/tmp", b"tmpfs", 0, None),
            "setuid": lambda: libc.setuid(0),
            "chroot": lambda: libc.chroot(b"/tmp"),
            "ptrace": lambda: libc.ptrace(0, 0, 0, 0),
            "keyctl": lambda: libc.syscall(250, 0, -3, 1),
            "bpf": lambda: libc.syscall(321, 0, None, 0) if os.uname().machine == "x86_64" else -1,
            "netlink": lambda: libc.socket(16, 3, 0),
            "packet": lambda: libc.socket(17, 3, 0),
            "clone": lambda: libc.syscall(56, 0x10000000 | 17, 0, 0, 0, 0),
        }
        for name, attempt in attempts.items():
            print(name, "GOT" if attempt() >= 0 else "refused")
        print(open("/proc/self/status").read())
    """
    ended = inside(program, mode)
    assert ended.code == 0 and "GOT" not in ended.output, ended.output
    assert "CapEff:\t0000000000000000" in ended.output
    assert "NoNewPrivs:\t1" in ended.output


def test_only_given_places_are_writable(mode, reachable) -> None:
    given, shown = reachable / "given", reachable / "shown"
    for folder in (given, shown):
        folder.mkdir()
        (folder / "old").write_text("old")
    binds = (
        Bind(source=given, target="/given", writable=True),
        Bind(source=shown, target="/shown"),
    )
    program = """
        import os, sys
        for folder in (*sys.argv[1:], "/usr", "/etc", "/dev", "/"):
            for name in ("old", "new"):
                try:
                    open(os.path.join(folder, name), "w").write("x")
                    print("wrote", folder, name)
                except OSError:
                    pass
    """
    argv = ("python", "-I", "-S", "-c", "\n".join(x[8:] for x in program.splitlines()))
    spec = BoxSpec(argv=(*argv, "/given", "/shown"), mode=mode, limits=Limits(), binds=binds)
    running = box.start(spec)
    running.wait(20)
    running.kill()
    there = running.place("/given")
    assert running.output.decode().splitlines() == [f"wrote {there} old", f"wrote {there} new"]
    assert (given / "new").read_text() == "x" and (shown / "old").read_text() == "old"


def test_tmp_is_private_and_empty_each_time(inside, mode) -> None:
    program = (
        "import os; print(os.listdir(os.environ['TMPDIR'])); open(os.environ['TMPDIR']+'/memo','w')"
    )
    for _ in range(2):
        assert inside(program, mode).output == "[]\n"


def test_core_files_and_descriptors_are_kept_back(inside, mode) -> None:
    program = """
        import os, resource
        print(resource.getrlimit(resource.RLIMIT_CORE))
        print(sorted(map(int, os.listdir("/proc/self/fd"))))
    """
    lines = inside(program, mode).output.splitlines()
    assert lines[0] == "(0, 0)"
    assert lines[1] == "[0, 1, 2, 3]", "3 is the listing itself"


LOOP = """
import itertools, mmap, sys
steps = mmap.mmap(int(sys.argv[1]), 8)
def loop():
    for n in itertools.count(1):
        steps[:] = n.to_bytes(8, "little")
"""
# A thread that outlives the first one of its process, which then counts as a zombie.
IN_THREAD = """
import ctypes, os, threading
threading.Thread(target=loop).start()
ctypes.CDLL(None).syscall(60 if os.uname().machine == "x86_64" else 93, 0)
"""


@pytest.fixture
def steps_fd() -> Iterator[int]:
    """Memory in which a program counts its steps."""
    fd = os.memfd_create("steps")
    os.ftruncate(fd, 8)
    yield fd
    os.close(fd)


def steps(fd: int) -> int:
    return int.from_bytes(os.pread(fd, 8, 0), "little")


def within_seconds(seen: Callable[[], bool]) -> bool:
    return any(seen() or time.sleep(0.02) for _ in range(250))


def uses_no_cpu(running: box.Box) -> bool:
    before = running.cpu_ns()
    time.sleep(0.05)
    return running.cpu_ns() == before


@pytest.mark.parametrize("go", ["loop()", IN_THREAD], ids=["process", "thread"])
def test_freeze_and_thaw(mode, go, steps_fd: int) -> None:
    argv = ("python", "-I", "-S", "-c", LOOP + go, str(steps_fd))
    running = box.start(BoxSpec(argv=argv, mode=mode, limits=Limits(), pass_fds=(steps_fd,)))
    try:
        assert within_seconds(lambda: steps(steps_fd) > 0)
        assert running.freeze()
        before, used_ns = steps(steps_fd), running.cpu_ns()
        # The kernel may still have to put a thread aside, but not a step of its own code is made.
        assert within_seconds(lambda: uses_no_cpu(running))
        assert steps(steps_fd) == before
        running.thaw()
        assert within_seconds(lambda: steps(steps_fd) > before)
        assert running.wait(0) is None and running.cpu_ns() > used_ns
    finally:
        running.kill()
        running.kill()


def test_exit_status_and_signals_are_told_apart(inside, mode) -> None:
    assert inside("raise SystemExit(7)", mode).code == 7
    assert inside("import os; os.abort()", mode).code == -6
