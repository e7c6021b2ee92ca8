"""A person's sandbox: the box that an agent gets, with an interactive shell in it."""

import contextlib
import os
import shutil
import socket
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from openrebench.core.card import TaskCard
from openrebench.isolation.box import Box, start
from openrebench.isolation.layout import Bind, BoxSpec
from openrebench.isolation.runner import Device, IsolationMode
from openrebench.isolation.spawn import UIDS
from openrebench.sandbox.config import WORKSPACE, box_spec, make_scratch, sandbox_config

INSIDE = Path(__file__).with_name("inside")
TOOLS = "/opt/re-bench"
COMMANDS = (
    "score", "score_log", "log", "note", "time_left", "pause", "submit", "instructions"
)  # fmt: skip
SHELL = ("bash", "--rcfile", f"{TOOLS}/bashrc", "-i")
LEFT = "left"


class Tools:
    """The folder with a shell's commands, which the sandbox sees and can't write.

    Outside of the workspace, so that nothing done there takes the commands away; inside a folder
    that is closed to other users of the machine, who might call them otherwise.
    """

    def __init__(self) -> None:
        self._closed = make_scratch()
        self.folder = self._closed / "tools"
        self.folder.mkdir()
        self.folder.chmod(0o755)  # the sandbox has a user of its own
        (self.folder / "bin").mkdir()
        for name in ("ask.py", "bashrc", "init.py"):
            shutil.copyfile(INSIDE / name, self.folder / name)
        (self.folder / "ask.py").chmod(0o755)
        for name in COMMANDS:
            (self.folder / "bin" / name).symlink_to("../ask.py")

    def show_left(self, text: str) -> None:
        """Let the prompt say how much time is left."""
        part = self.folder / f".{LEFT}"
        part.write_text(text, encoding="utf-8")
        part.replace(self.folder / LEFT)

    def remove(self) -> None:
        """Remove the folder."""
        shutil.rmtree(self._closed, ignore_errors=True)


class PersonSandbox:
    """A sandbox with one shell on a terminal; it can be opened again after it was closed.

    Args:
        card: Of the environment.
        profile: The attempt's size.
        workspace: Folder of the host that becomes /workspace.
        tools: The shell's commands.
        env: What the shell knows of the person's terminal.
        mode: Isolation mode, one with namespaces.
    """

    def __init__(
        self,
        card: TaskCard,
        profile: str,
        workspace: Path,
        tools: Tools,
        env: Mapping[str, str],
        mode: IsolationMode,
    ) -> None:
        self._config = sandbox_config(card, profile).model_copy(update={"mode": mode})
        self._workspace = workspace
        self._tools = tools
        self._env = env
        self._box: Box | None = None
        self.socket: socket.socket | None = None

    def open(self) -> None:
        """Start it.

        Raises:
            RunnerUnavailable: It can't be built on this machine.
        """
        self.close()
        ours, theirs = socket.socketpair()
        with theirs:
            try:
                self._box = start(self._spec(theirs.fileno()))
            except BaseException:
                ours.close()
                raise
        if self.socket is not None:
            self.socket.close()
        self.socket = ours

    def close(self) -> None:
        """End everything in it. Calling again does nothing."""
        if self._box is not None:
            self._box.kill()

    def dispose(self) -> None:
        """End it, and let go of the socket; by the thread that reads there."""
        try:
            self.close()
        finally:
            if self.socket is not None:
                self.socket.close()
                self.socket = None

    def next_terminal(self) -> int | None:
        """Take the terminal that process 1 sends; None if the sandbox has ended."""
        assert self.socket is not None
        data, fds, _, _ = socket.recv_fds(self.socket, 1, 1)
        if not data or not fds:
            for fd in fds:
                os.close(fd)
            return None
        os.set_blocking(fds[0], False)
        return fds[0]

    @property
    def can_freeze(self) -> bool:
        """Whether everything in it can be made to stand still."""
        return freezes(self._config.device)

    def freeze(self) -> bool:
        """Make everything in it stand still; gives whether it does."""
        with contextlib.suppress(OSError):  # it has ended by itself
            return self._box is not None and self._box.freeze()
        return False

    def thaw(self) -> None:
        """Let it go on."""
        with contextlib.suppress(OSError):
            if self._box is not None:
                self._box.thaw()

    def _spec(self, socket_fd: int) -> BoxSpec:
        spec = box_spec(self._config, self._workspace, socket_fd)
        workspace, *_ = spec.binds
        return replace(
            spec,
            argv=("python", "-I", "-S", f"{TOOLS}/init.py", str(socket_fd), *SHELL),
            binds=(workspace, Bind(source=self._tools.folder, target=TOOLS)),
            env={**spec.env, **self._env},
            cwd=WORKSPACE,
            uid=self._earlier_uid(),
        )

    def _earlier_uid(self) -> int | None:
        """Give the user that an earlier sandbox had here: its files keep their owner."""
        owner = self._workspace.stat().st_uid
        return owner if owner in UIDS else None


def freezes(device: Device) -> bool:
    """Tell whether a sandbox can be made to stand still.

    Not where a GPU goes on with the work that it was given.
    """
    return device == "cpu"
