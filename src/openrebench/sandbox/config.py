"""What a sandbox for an agent is made of."""

import contextlib
import os
import shutil
import socket
import tempfile
from pathlib import Path
from typing import NamedTuple

from pydantic import BaseModel, ConfigDict, Field

from openrebench.core.card import TaskCard
from openrebench.errors import RunnerUnavailable
from openrebench.isolation.box import Box, start
from openrebench.isolation.cuda import cuda_devices
from openrebench.isolation.layout import NAMESPACE_MODES, Bind, BoxSpec
from openrebench.isolation.probe import strongest_mode
from openrebench.isolation.runner import Device, IsolationMode, Limits
from openrebench.sandbox.channel import Channel, ChannelClosed
from openrebench.sandbox.extras import SOLVER_PATH, solver_binds

WORKSPACE = "/workspace"
HOME = "/home/agent"
SERVER = "/opt/execd.py"
SERVER_SOURCE = Path(__file__).with_name("execd.py")
START_TIMEOUT_S = 30.0
GIB = 1 << 30
SCRATCH = "openrebench-sandbox-"  # then our process id
SOLVER_PROCESSES = 512


class SandboxConfig(BaseModel):
    """Settings of one sandbox.

    Attributes:
        workspace: Folder of the host that becomes /workspace, where the task does not name one;
            a throw-away folder if None.
        device: What the agent may compute on.
        memory_bytes: Memory of everything in it, private folders included.
        processes: Processes and threads at a time.
        tmp_bytes: Size of each private folder, such as /tmp.
        mode: Isolation mode; the strongest that works here if None.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    workspace: Path | None = None
    device: Device = "cpu"
    memory_bytes: int = Field(gt=0, default=8 * GIB)
    processes: int = Field(gt=0, default=512)
    tmp_bytes: int = Field(gt=0, default=4 * GIB)
    mode: IsolationMode | None = None


class Running(NamedTuple):
    """A sandbox that is up."""

    box: Box
    channel: Channel


def open_sandbox(config: SandboxConfig, workspace: Path) -> Running:
    """Start a box whose process 1 is our command server, and connect to it.

    Raises:
        RunnerUnavailable: It can't be built on this machine, or did not come up.
    """
    ours, theirs = socket.socketpair()
    try:
        with theirs:
            box = start(box_spec(config, workspace, theirs.fileno()))
    except BaseException:
        ours.close()
        raise
    running = Running(box, Channel(ours))
    try:
        running.channel.wait_until_ready(START_TIMEOUT_S)
    except (ChannelClosed, TimeoutError) as error:
        close_sandbox(running)
        said = box.output.decode("utf-8", "replace").strip().rpartition("\n")[2]
        raise RunnerUnavailable(f"the agent's sandbox did not come up: {said or error}") from error
    return running


def close_sandbox(running: Running) -> None:
    """End everything in it."""
    try:
        running.box.kill()
    finally:
        running.channel.close()


def sandbox_config(card: TaskCard, profile: str) -> SandboxConfig:
    """Give a solver twice the memory of a score call: it must be able to try one, and live."""
    chosen = card.profile(profile)
    return SandboxConfig(
        device=chosen.device,
        memory_bytes=2 * chosen.limits.memory_bytes,
        processes=max(SOLVER_PROCESSES, 4 * chosen.limits.processes),
    )


def box_spec(config: SandboxConfig, workspace: Path, socket_fd: int) -> BoxSpec:
    """Describe a sandbox whose process 1 is our command server; its first bind is the workspace."""
    mode = config.mode or strongest_mode()
    if mode not in NAMESPACE_MODES:
        raise RunnerUnavailable(
            f"agents need bubblewrap, and only the mode '{mode}' works here; see re-bench doctor"
        )
    return BoxSpec(
        argv=("python", "-I", "-S", SERVER, str(socket_fd), WORKSPACE),
        mode=mode,
        limits=Limits(
            memory_bytes=config.memory_bytes,
            processes=config.processes,
            tmp_bytes=config.tmp_bytes,
        ),
        binds=(
            Bind(source=workspace, target=WORKSPACE, writable=True),
            Bind(source=SERVER_SOURCE, target=SERVER),
            *solver_binds(),
        ),
        tmpfs=(HOME, "/var/tmp"),  # noqa: S108 - the sandbox's own
        env={"HOME": HOME, "TERM": "dumb", "PATH": SOLVER_PATH},
        cwd=WORKSPACE,
        pass_fds=(socket_fd,),
        as_pid_1=True,
        devices=cuda_devices() if config.device == "cuda" else (),
    )


def make_scratch() -> Path:
    """Make a throw-away folder that says whose it is."""
    return Path(tempfile.mkdtemp(prefix=f"{SCRATCH}{os.getpid()}-"))


def remove_leftovers() -> None:
    """Remove throw-away folders of processes that were killed before they could."""
    for folder in Path(tempfile.gettempdir()).glob(f"{SCRATCH}*"):
        owner = folder.name.removeprefix(SCRATCH).partition("-")[0]
        if not Path("/proc", owner).exists():
            with contextlib.suppress(OSError):
                shutil.rmtree(folder)
