"""What an agent can and can't do in its sandbox, and that nothing of it is left."""

import asyncio
import os
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from inspect_ai.util import (
    SandboxEnvironmentSpec,
    SandboxUnavailableError,
    SandboxUserUnsupportedError,
)
from pydantic import ValidationError

from openrebench.isolation.layout import NAMESPACE_MODES
from openrebench.isolation.probe import probe_modes
from openrebench.isolation.runner import IsolationMode
from openrebench.sandbox import config as sandbox_config
from openrebench.sandbox.provider import SANDBOX, OpenREBenchSandbox, SandboxConfig

SMALL = SandboxConfig(memory_bytes=256 << 20, processes=48, tmp_bytes=16 << 20)


@pytest.fixture
def box(tmp_path: Path) -> Iterator[OpenREBenchSandbox]:
    made = OpenREBenchSandbox(SMALL)
    made.start(_workspace(tmp_path))
    yield made
    made.stop()


def _workspace(tmp_path: Path) -> Path:
    folder = tmp_path / "workspace"
    folder.mkdir()
    (folder / "given.txt").write_text("given")
    return folder


def sh(box: OpenREBenchSandbox, command: str, timeout: int = 30) -> str:
    done = asyncio.run(box.exec(["sh", "-c", command], timeout=timeout))
    return done.stdout + done.stderr


def test_workspace_is_the_working_folder_and_is_shared(
    box: OpenREBenchSandbox, tmp_path: Path
) -> None:
    assert sh(box, "pwd; cat given.txt; echo made > made.txt").split() == ["/workspace", "given"]
    assert (tmp_path / "workspace" / "made.txt").read_text() == "made\n"


def test_no_host_files(box: OpenREBenchSandbox, tmp_path: Path) -> None:
    (tmp_path / "secret.txt").write_text("secret")
    paths = [tmp_path, Path(__file__).parent, Path.home(), "/etc/shadow", "/etc/hostname", "/sys"]
    said = sh(box, f"ls {' '.join(map(str, paths))} 2>/dev/null; ls -A /home /tmp")
    assert said.split() == ["/home:", "agent", "/tmp:"]


def test_no_host_environment(box: OpenREBenchSandbox, monkeypatch: pytest.MonkeyPatch) -> None:
    names = {line.partition("=")[0] for line in sh(box, "env").splitlines()}
    allowed = {"PATH", "HOME", "TMPDIR", "USER", "LANG", "TERM", "PWD", "SHLVL", "_", "LC_CTYPE"}
    assert names <= allowed
    assert "OPENREBENCH" not in sh(box, "cat /proc/*/environ 2>/dev/null | tr '\\0' '\\n'")


def test_no_other_processes_and_no_network(box: OpenREBenchSandbox) -> None:
    assert len(sh(box, "ls /proc | grep -c '^[0-9]'").split()) == 1
    assert int(sh(box, "ls /proc | grep -c '^[0-9]'")) < 6
    interfaces = sh(box, "tail -n +3 /proc/net/dev | cut -d: -f1").split()
    assert interfaces == ["lo"]


def test_the_user_has_a_home(box: OpenREBenchSandbox) -> None:
    code = "import pwd, os; print(pwd.getpwuid(os.getuid()).pw_dir, os.environ['HOME'])"
    assert sh(box, f'python -c "{code}"').split() == ["/home/agent", "/home/agent"]


def test_an_own_user_without_capabilities(box: OpenREBenchSandbox) -> None:
    uid = int(sh(box, "id -u"))
    assert uid != 0 and (os.getuid() != 0 or uid != os.getuid())
    assert "0000000000000000" in sh(box, "grep CapEff /proc/self/status")
    assert sh(box, "unshare -Ur true 2>/dev/null || echo no").strip() == "no"


def test_the_server_can_be_neither_ended_nor_read(box: OpenREBenchSandbox) -> None:
    sh(box, "for s in INT TERM HUP USR1 CHLD KILL STOP; do kill -$s 1; done; kill -9 -1")
    said = sh(box, "cat /proc/1/mem; ls /proc/1/fd; cat /proc/1/environ")
    assert said.count("Permission denied") + said.count("cannot open") >= 3


def test_python_is_the_worker_environment(box: OpenREBenchSandbox) -> None:
    assert sh(box, "python -c 'import sys; print(sys.prefix)'").strip() == "/opt/env"
    assert "Read-only" in sh(box, "touch /opt/env/x") + sh(box, "touch /opt/x")


def test_a_background_job_does_not_hold_up_and_lives_on(box: OpenREBenchSandbox) -> None:
    started = time.monotonic()
    assert sh(box, "(sleep 0.5; echo late; echo done > late.txt) & echo now") == "now\n"
    assert time.monotonic() - started < 0.45
    time.sleep(0.7)
    assert sh(box, "cat late.txt") == "done\n"


def test_stopping_ends_daemons_too(box: OpenREBenchSandbox) -> None:
    sh(box, "setsid sh -c 'exec -a openrebench-stray sleep 1234' & setsid sleep 1234.5 & true")
    box.stop()
    listed = subprocess.run(["ps", "ax", "-o", "args"], capture_output=True, text=True).stdout
    assert "sleep 1234" not in listed
    box.stop()  # again does nothing
    with pytest.raises(SandboxUnavailableError, match="stopped"):
        sh(box, "true")


@pytest.mark.parametrize("mode", NAMESPACE_MODES)
def test_frozen_jobs_stand_still(mode: IsolationMode, tmp_path: Path) -> None:
    if not any(report.mode is mode and report.available for report in probe_modes()):
        pytest.skip(f"{mode} does not work here")
    box = OpenREBenchSandbox(SMALL.model_copy(update={"mode": mode}))
    box.start(_workspace(tmp_path))
    try:
        assert_stands_still(box, tmp_path)
    finally:
        box.stop()


def assert_stands_still(box: OpenREBenchSandbox, tmp_path: Path) -> None:
    """Also where new processes are started all the time, and one tries to wake the others."""
    forks = "setsid sh -c 'while :; do true | sleep .001; done' > /dev/null 2>&1 &"
    sh(box, f"for i in 1 2 3 4; do {forks} done")
    sh(box, "setsid sh -c 'while :; do kill -CONT -1; done' > /dev/null 2>&1 &")
    sh(box, "while true; do echo >> ticks; sleep 0.01; done > /dev/null 2>&1 &")
    ticks = tmp_path / "workspace" / "ticks"
    while not ticks.exists():
        time.sleep(0.01)
    with box.frozen() as could:
        assert could
        before = ticks.stat().st_size
        time.sleep(0.2)
        assert ticks.stat().st_size == before
    deadline = time.monotonic() + 5
    while ticks.stat().st_size == before and time.monotonic() < deadline:
        time.sleep(0.05)
    assert ticks.stat().st_size > before


def test_frozen_thaws_on_errors(box: OpenREBenchSandbox) -> None:
    with pytest.raises(RuntimeError), box.frozen():
        raise RuntimeError
    assert sh(box, "echo on") == "on\n"


@pytest.mark.parametrize("bomb", ["python -c 'import os\nwhile 1: os.fork()'", ":(){ :|:& };:"])
def test_survives_a_fork_bomb(box: OpenREBenchSandbox, bomb: str) -> None:
    done = asyncio.run(
        box.exec(["bash", "-c", f"({bomb}) > /dev/null 2>&1 & sleep 0.3"], timeout=20)
    )
    said = sh(box, "echo alive", timeout=20)
    assert said.startswith("alive"), (done, said)


def test_running_out_of_memory_ends_the_command_only(box: OpenREBenchSandbox) -> None:
    code = "x = bytearray(1 << 30)\nfor i in range(0, 1 << 30, 4096): x[i] = 1"
    done = asyncio.run(box.exec(["python", "-c", code], timeout=60))
    assert not done.success
    assert sh(box, "echo alive") == "alive\n"


def test_too_much_output_keeps_the_end(box: OpenREBenchSandbox) -> None:
    said = sh(box, "yes | head -c 30000000; echo end")
    assert len(said) <= 10 * 1024**2 and said.endswith("end\n")


def test_a_pipe_is_no_file(box: OpenREBenchSandbox) -> None:
    sh(box, "mkfifo pipe; ln -s pipe link")
    for name in ("pipe", "link", "/dev/zero"):
        with pytest.raises(OSError):
            asyncio.run(box.read_file(name))
    with pytest.raises(OSError):
        asyncio.run(box.write_file("pipe", "x"))


def test_other_users_are_refused(box: OpenREBenchSandbox) -> None:
    with pytest.raises(SandboxUserUnsupportedError, match="root"):
        asyncio.run(box.exec(["true"], user="root"))


def test_cancelling_kills_the_command(box: OpenREBenchSandbox) -> None:
    async def cancelled() -> None:
        waiting = asyncio.create_task(box.exec(["sleep", "777"]))
        await asyncio.sleep(0.3)
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting

    asyncio.run(cancelled())
    time.sleep(0.2)
    assert "sleep 777" not in sh(box, "ps ax -o args | grep -v grep")


def test_configuration_survives_a_log() -> None:
    spec = SandboxEnvironmentSpec(SANDBOX, SMALL)
    again = SandboxEnvironmentSpec.model_validate(spec.model_dump())
    assert again == spec and hash(SMALL)
    with pytest.raises(ValidationError):
        SandboxConfig.model_validate({"memory": 1})


def test_leftovers_of_killed_runs_are_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sandbox_config.tempfile, "tempdir", str(tmp_path))
    mine = sandbox_config.make_scratch()
    dead = tmp_path / f"{sandbox_config.SCRATCH}999999999-x"
    dead.mkdir()
    asyncio.run(OpenREBenchSandbox.task_init("any", None))
    assert mine.exists() and not dead.exists()


def test_a_used_sandbox_does_not_change_its_workspace(
    box: OpenREBenchSandbox, tmp_path: Path
) -> None:
    with pytest.raises(SandboxUnavailableError, match="workspace"):
        box.start(tmp_path)
