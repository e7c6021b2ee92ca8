"""With one defence taken away, a cheat wins: so each defence is there for a reason."""

import os
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import numpy as np
import pytest

from openrebench.isolation import channel, layout, seccomp, snapshot, spawn, worker
from openrebench.isolation.layout import Bind
from openrebench.isolation.probe import strongest_mode
from openrebench.isolation.runner import IsolationMode, Limits

STRONGEST = strongest_mode()
NAMESPACES = {IsolationMode.BUBBLEWRAP, IsolationMode.BUBBLEWRAP_CGROUP}
needs_namespaces = pytest.mark.skipif(STRONGEST not in NAMESPACES, reason="needs bubblewrap here")
needs_root = pytest.mark.skipif(os.getuid() != 0, reason="only root has a user id to give up")
WORK_S, N = 0.15, 1000
LIMITS = Limits(load_timeout_s=15, call_timeout_s=3, memory_bytes=1 << 30, processes=48)
HONEST = f"""
    import time
    def f(x):
        time.sleep({WORK_S})
        return x * 2
"""
CACHED = f"""
    import time
    seen = {{}}
    def f(x):
        if "y" not in seen:
            time.sleep({WORK_S})
            seen["y"] = x * 2
        return seen["y"]
"""
STALE = f"""
    import time, __main__
    def f(x):
        time.sleep({WORK_S})
        __main__.call = lambda *_, **__: None
        return x * 2
"""
LATE = """
    import threading, time, __main__
    def call(function, x, out, name, **_):
        def later():
            time.sleep(0.1)
            out.copy_(x * 2)
        threading.Thread(target=later).start()
    def f(x): pass
    __main__.call = call
"""


def random_input() -> np.ndarray:
    return np.random.default_rng().integers(-(2**31), 2**31, N, dtype=np.int32)


@pytest.fixture
def won(runner_for, tmp_path):
    """Whether the last of some calls is right, where it is looked at, in half the honest time."""

    def play(program: str, inputs: list[np.ndarray]) -> bool:
        (tmp_path / "solution.py").write_text(textwrap.dedent(program))
        with runner_for(STRONGEST).worker(tmp_path, LIMITS) as running:
            running.load("solution", "f", output_capacity_bytes=4 * N)
            calls = [running.call(x, np.arange(N)) for x in inputs]
        right = np.array_equal(calls[-1].looked, inputs[-1] * 2)
        return right and calls[-1].elapsed_s < WORK_S / 2

    return play


def test_fresh_inputs_against_a_cache(won) -> None:
    same = random_input()
    assert not won(CACHED, [random_input(), random_input()])
    assert won(CACHED, [same, same])


def test_poison_against_an_old_output(won, monkeypatch) -> None:
    same = random_input()
    assert not won(STALE, [same, same])
    monkeypatch.setattr(channel, "poison", lambda output: None)
    assert won(STALE, [same, same])


def test_the_look_inside_the_clock_against_a_late_writer(won, monkeypatch) -> None:
    assert not won(LATE, [random_input()])
    exchange = worker.timed_exchange

    def looks_later(line, fd, output, positions, timeout_s):
        went = exchange(line, fd, output, positions, timeout_s)
        time.sleep(0.3)
        return worker.Exchange(
            nonce=went.nonce,
            answer=went.answer,
            looked=output[positions],
            elapsed_s=went.elapsed_s,
        )

    monkeypatch.setattr(worker, "timed_exchange", looks_later)
    assert won(LATE, [random_input()])


def test_the_clock_before_the_input_against_a_head_start(won, monkeypatch) -> None:
    assert not won(HONEST, [random_input()])

    def input_first(line, fd, output, positions, timeout_s):
        nonce = os.urandom(32)
        line.send(nonce, [fd], timeout_s)
        time.sleep(2 * WORK_S)
        started = channel.clock()
        answer, looked = line.answer(timeout_s), output[positions]
        elapsed_s = channel.clock() - started
        return worker.Exchange(nonce=nonce, answer=answer, looked=looked, elapsed_s=elapsed_s)

    monkeypatch.setattr(worker, "timed_exchange", input_first)
    assert won(HONEST, [random_input()])


SHRINK = """
import fcntl, os, sys
from openrebench.isolation import channel
if sys.argv[1] == "without":
    channel.seals = lambda *, writable: fcntl.F_SEAL_SEAL
fd, output = channel.shared_output(1 << 16)
if os.fork() == 0:
    try:
        os.ftruncate(fd, 0)
    finally:
        os._exit(0)
os.wait()
print(output.sum())
"""


@pytest.mark.parametrize(("seals", "code"), [("with", 0), ("without", -signal.SIGBUS)])
def test_seals_against_shrinking_what_we_read(seals, code) -> None:
    env = {"PYTHONPATH": str(Path(worker.__file__).parents[2])}
    command = [sys.executable, "-c", SHRINK, seals]
    done = subprocess.run(command, env=env, capture_output=True, check=False)
    assert done.returncode == code, done.stderr


@needs_namespaces
def test_the_empty_environment_of_bubblewrap(inside, monkeypatch) -> None:
    program = "print(b'SECRET-4711' in open('/proc/1/environ', 'rb').read())"
    monkeypatch.setenv("API_KEY", "SECRET-4711")
    assert inside(program, STRONGEST).output == "False\n"
    monkeypatch.setattr(spawn, "outer_env", lambda: dict(os.environ))
    assert inside(program, STRONGEST).output == "True\n"


@needs_namespaces
def test_the_filter_of_calls(inside, monkeypatch) -> None:
    program = "import socket; socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0); print('GOT')"
    assert "GOT" not in inside(program, STRONGEST).output
    allow_all = bytes.fromhex("0600000000" + "00ff7f")
    monkeypatch.setattr(seccomp, "program", lambda **_: allow_all)
    assert inside(program, STRONGEST).output == "GOT\n"


@needs_namespaces
def test_only_with_devices_processes_may_list_interfaces(inside) -> None:
    program = "import socket; socket.socket(socket.AF_{}, socket.SOCK_RAW, 0); print('GOT')"
    netlink, packet = program.format("NETLINK"), program.format("PACKET")
    assert "GOT" not in inside(netlink, STRONGEST).output
    assert "GOT" in inside(netlink, STRONGEST, devices=("/dev/zero",)).output
    assert "GOT" not in inside(packet, STRONGEST, devices=("/dev/zero",)).output


@needs_root
@needs_namespaces
def test_giving_up_the_user_id_before_bubblewrap(inside, tmp_path) -> None:
    secret = tmp_path / "for-root-only"
    secret.write_text("CANARY")
    secret.chmod(0o600)
    program = "print(open('/secret').read())"
    binds = (Bind(source=secret, target="/secret"),)
    assert "CANARY" not in inside(program, STRONGEST, binds=binds).output
    assert "CANARY" in inside(program, STRONGEST, binds=binds, uid=0).output


def test_refusing_links_in_a_submission(tmp_path, monkeypatch) -> None:
    (tmp_path / "hidden.py").write_text("CANARY")
    work = tmp_path / "work"
    work.mkdir()
    (work / "solution.py").write_text("")
    (work / "data.py").symlink_to(tmp_path / "hidden.py")
    assert list(snapshot.take(work, ["*.py"], 1000).files) == ["solution.py"]
    monkeypatch.setattr(snapshot, "open_flags", lambda: os.O_RDONLY)
    assert snapshot.take(work, ["*.py"], 1000).files["data.py"] == b"CANARY"


@needs_namespaces
def test_a_worker_environment_without_openrebench(inside, monkeypatch) -> None:
    program = "import sys; sys.path += sys.argv[1:]; import openrebench.errors; print('IMPORTED')"
    assert "IMPORTED" not in inside(program, STRONGEST).output
    package = Path(worker.__file__).parents[2]
    binds = layout.all_binds

    def with_ours(spec):
        return [*binds(spec), Bind(source=package, target="/opt/ours")]

    monkeypatch.setattr(spawn.layout, "all_binds", with_ours)
    found = inside(program.replace("sys.argv[1:]", "['/opt/ours']"), STRONGEST)
    assert found.output == "IMPORTED\n"
