"""Inspect's sandbox provider `openrebench`: an agent in a box without network or host files."""

import contextlib
import shutil
import threading
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Literal, overload

import anyio
import anyio.to_thread
from inspect_ai.util import (
    ExecResult,
    OutputLimitExceededError,
    SandboxEnvironment,
    SandboxEnvironmentConfigType,
    SandboxEnvironmentLimits,
    SandboxUnavailableError,
    SandboxUserUnsupportedError,
    sandboxenv,
)
from pydantic import BaseModel

from openrebench.sandbox.channel import ChannelClosed, Reply
from openrebench.sandbox.config import (
    WORKSPACE,
    Running,
    SandboxConfig,
    close_sandbox,
    make_scratch,
    open_sandbox,
    remove_leftovers,
)

SANDBOX = "openrebench"
USER = "worker"
OPEN_CALLS = 1000  # commands that may run at a time; each waits in a thread of its own


@sandboxenv(name=SANDBOX)
class OpenREBenchSandbox(SandboxEnvironment):
    """One sandbox of one attempt.

    It starts with the first use, or when the task says with which workspace. Commands run as one
    user; jobs in the background live on between commands, and die with the sandbox.
    """

    def __init__(self, config: SandboxConfig) -> None:
        super().__init__()
        self.config = config
        self._running: Running | None = None
        self._scratch: Path | None = None
        self._workspace: Path | None = None
        self._stopped = False
        self._lock = threading.Lock()
        self._threads = anyio.CapacityLimiter(OPEN_CALLS)

    @classmethod
    async def task_init(cls, task_name: str, config: SandboxEnvironmentConfigType | None) -> None:
        """Remove what killed runs have left."""
        remove_leftovers()

    @classmethod
    async def sample_init(
        cls,
        task_name: str,
        config: SandboxEnvironmentConfigType | None,
        metadata: dict[str, str],
    ) -> dict[str, SandboxEnvironment]:
        """Give a sandbox that is not started yet: its workspace is the attempt's."""
        chosen = config if isinstance(config, SandboxConfig) else SandboxConfig()
        return {"default": cls(chosen)}

    @classmethod
    async def sample_cleanup(
        cls,
        task_name: str,
        config: SandboxEnvironmentConfigType | None,
        environments: dict[str, SandboxEnvironment],
        interrupted: bool,
    ) -> None:
        """Stop the sandbox; it may have been stopped before."""
        for environment in environments.values():
            await anyio.to_thread.run_sync(environment.as_type(cls).stop)

    @classmethod
    def config_deserialize(cls, config: dict[str, Any]) -> BaseModel:
        """Read a configuration back from a log."""
        return SandboxConfig.model_validate(config)

    def start(self, workspace: Path | None = None) -> Running:
        """Start it if it isn't running.

        Args:
            workspace: Folder of the host that becomes /workspace.

        Raises:
            RunnerUnavailable: It can't be built on this machine.
            SandboxUnavailableError: It has been stopped, or runs with another workspace.
        """
        with self._lock:
            if self._stopped:
                raise SandboxUnavailableError("the sandbox has been stopped")
            if self._running is None:
                self._workspace = workspace or self._own_workspace()
                self._running = open_sandbox(self.config, self._workspace)
            elif workspace not in (None, self._workspace):
                raise SandboxUnavailableError("the sandbox was used before it had its workspace")
            return self._running

    def _own_workspace(self) -> Path:
        if self.config.workspace is not None:
            return self.config.workspace
        self._scratch = make_scratch()
        return self._scratch

    def stop(self) -> None:
        """End everything in it. Calling again does nothing."""
        with self._lock:
            self._stopped = True
            running, self._running = self._running, None
            try:
                if running is not None:
                    close_sandbox(running)
            finally:
                if self._scratch is not None:
                    shutil.rmtree(self._scratch, ignore_errors=True)

    @contextlib.contextmanager
    def frozen(self) -> Iterator[bool]:
        """Stop all its processes for a while; gives whether that could be done here."""
        running = self._running
        if running is None:
            yield True
            return
        try:
            yield running.box.freeze()
        finally:
            running.box.thaw()

    async def exec(
        self,
        cmd: list[str],
        input: str | bytes | None = None,
        cwd: str | None = None,
        env: dict[str, str] | None = None,
        user: str | None = None,
        timeout: int | None = None,
        timeout_retry: bool = True,
        concurrency: bool = True,
    ) -> ExecResult[str]:
        """Run a command (see the base class).

        `timeout_retry` is ignored: what an agent runs must not run twice. So is `concurrency`:
        no process is started on this side. Of too much output the end is kept.
        """
        self._check_user(user)
        request = {
            "op": "exec",
            "argv": cmd,
            "cwd": cwd,
            "env": env or {},
            "timeout_s": timeout,
            "limit": SandboxEnvironmentLimits.MAX_EXEC_OUTPUT_SIZE,
            "has_stdin": input is not None,
        }
        header, body = await self._call(request, _as_bytes(input or b""))
        if header.get("timed_out"):
            raise TimeoutError(f"the command did not end within {timeout} seconds")
        code, out = header["code"], header["out"]
        stdout, stderr = (part.decode("utf-8", "replace") for part in (body[:out], body[out:]))
        return ExecResult(success=code == 0, returncode=code, stdout=stdout, stderr=stderr)

    async def write_file(self, file: str, contents: str | bytes) -> None:
        """Write a file with the agent's rights (see the base class)."""
        await self._call({"op": "write", "path": file}, _as_bytes(contents))

    @overload
    async def read_file(self, file: str, text: Literal[True] = True) -> str: ...

    @overload
    async def read_file(self, file: str, text: Literal[False]) -> bytes: ...

    async def read_file(self, file: str, text: bool = True) -> str | bytes:
        """Read a file with the agent's rights (see the base class)."""
        limit = SandboxEnvironmentLimits.MAX_READ_FILE_SIZE
        reply = await self._call({"op": "read", "path": file, "limit": limit})
        return reply.body.decode("utf-8") if text else reply.body

    def default_polling_interval(self) -> float:
        """Local, so asking often is cheap."""
        return 0.2

    def _check_user(self, user: str | None) -> None:
        known = {None, USER}
        if self._running is not None:
            known.add(str(self._running.box.uid))
        if user not in known:
            raise SandboxUserUnsupportedError(
                f"the sandbox '{SANDBOX}' runs everything as '{USER}', not as '{user}'"
            )

    async def _call(self, request: Mapping[str, Any], payload: bytes = b"") -> Reply:
        """Ask process 1, and wait without holding up the event loop."""
        running = await anyio.to_thread.run_sync(self.start, limiter=self._threads)
        number, future = running.channel.ask(request, payload)
        try:
            reply = await anyio.to_thread.run_sync(
                future.result, abandon_on_cancel=True, limiter=self._threads
            )
        except ChannelClosed as error:
            raise SandboxUnavailableError(str(error)) from error
        except anyio.get_cancelled_exc_class():
            running.channel.kill(number)
            raise
        if "error" in reply.header:
            _raise(str(reply.header["error"]), str(reply.header["text"]))
        return reply


def _as_bytes(data: str | bytes) -> bytes:
    return data.encode() if isinstance(data, str) else data


def _raise(kind: str, text: str) -> None:
    """Raise what Inspect expects for an error inside."""
    if kind == "OverflowError":
        raise OutputLimitExceededError(SandboxEnvironmentLimits.MAX_READ_FILE_SIZE_STR, None)
    kinds: dict[str, type[Exception]] = {
        error.__name__: error for error in (FileNotFoundError, PermissionError, IsADirectoryError)
    }
    raise kinds.get(kind, OSError)(text)


__all__ = ["SANDBOX", "WORKSPACE", "OpenREBenchSandbox", "SandboxConfig"]
