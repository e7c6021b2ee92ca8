"""Run untrusted code on this machine."""

import atexit
import contextlib
import resource
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from pathlib import Path
from types import TracebackType
from typing import Self

from openrebench.errors import RunnerUnavailable
from openrebench.isolation import box, probe, snapshot
from openrebench.isolation.cuda import cuda_devices
from openrebench.isolation.cuda_worker import CudaWorker
from openrebench.isolation.layout import Bind, BoxSpec, worker_env
from openrebench.isolation.runner import Device, IsolationMode, Limits, Pauses, RunResult
from openrebench.isolation.worker import WarmWorker, Worker

WORKSPACE = "/workspace"


class LocalRunner:
    """The `Runner` of this machine; close it, or use it as a context.

    After a worker was used the next one is started in the background, with the same limits, so
    that a score does not wait for imports. A worker gets one submission and is then ended.

    Args:
        mode: Isolation of every run; the strongest that works here if None.

    Raises:
        RunnerUnavailable: The mode does not work here, or none does but `subprocess`, which has
            to be asked for by name.
    """

    def __init__(self, mode: IsolationMode | None = None) -> None:
        self._mode = probe.strongest_mode() if mode is None else probe.available_mode(mode)
        self._lock = threading.Lock()
        self._background = ThreadPoolExecutor(1, thread_name_prefix="openrebench-spare")
        self._spare: Future[WarmWorker] | None = None
        self._closed = False
        atexit.register(self.close)

    @classmethod
    def named(cls, mode: str | None) -> Self:
        """Make a runner for a mode named by a user, or for the strongest one.

        Raises:
            RunnerUnavailable: No mode has this name, or it does not work here.
        """
        modes = [str(known) for known in IsolationMode]
        if mode is not None and mode not in modes:
            raise RunnerUnavailable(f"no isolation mode '{mode}'; there are: {', '.join(modes)}")
        return cls(IsolationMode(mode) if mode else None)

    @property
    def mode(self) -> IsolationMode:
        """The isolation that every run of this runner gets."""
        return self._mode

    def run(
        self,
        argv: Sequence[str],
        *,
        workspace: Path,
        limits: Limits,
        env: Mapping[str, str] | None = None,
        stdin: bytes = b"",
        device: Device = "cpu",
        pauses: Pauses | None = None,
    ) -> RunResult:
        """Run a command without network in a throw-away sandbox (see `Runner.run`)."""
        with tempfile.TemporaryFile() as file:
            file.write(stdin)
            file.seek(0)
            spec = BoxSpec(
                argv=tuple(argv),
                mode=self._mode,
                limits=limits,
                binds=(Bind(source=workspace.resolve(), target=WORKSPACE, writable=True),),
                cwd=WORKSPACE,
                env=env or {},
                stdin=file.fileno(),
                devices=cuda_devices() if device == "cuda" else (),
            )
            used_s, started = _children_cpu_s(), time.monotonic()
            running = box.start(spec)
        try:
            code, paused_s = _waited(running, limits.call_timeout_s, pauses)
            elapsed_s = time.monotonic() - started - paused_s
            counted_ns = running.counted_cpu_ns()
        finally:
            running.kill()
        cpu_s = _children_cpu_s() - used_s if counted_ns is None else counted_ns / 1e9
        untold = counted_ns is None and self._mode is IsolationMode.BUBBLEWRAP
        timed_out = code is None
        ended = running.wait(0) if code is None else code
        return RunResult(
            returncode=ended if ended is not None else 0,
            output=running.output,
            timed_out=timed_out,
            out_of_memory=running.out_of_memory,
            too_much_output=running.flooded,
            elapsed_s=elapsed_s,
            cpu_s=None if untold else cpu_s,  # bubblewrap does not wait for what it starts
        )

    @contextlib.contextmanager
    def worker(self, submission: Path, limits: Limits) -> Iterator[Worker]:
        """Start a worker that has the submission's files (see `Runner.worker`).

        One at a time: a second caller waits.
        """
        files = snapshot.take(submission, ["**/*"], limits.tmp_bytes).files
        with self._lock:
            warm = self._warm(limits, "cpu")
            try:
                yield Worker(files, warm)
            finally:
                warm.close()
                if not self._closed:
                    self._spare = self._background.submit(_warmed, self._mode, limits, "cpu")

    @contextlib.contextmanager
    def cuda_worker(self, files: Mapping[str, bytes], limits: Limits) -> Iterator[CudaWorker]:
        """Start a worker that computes on a GPU (see `cuda_worker`)."""
        with self._lock:
            warm = self._warm(limits, "cuda")
            try:
                yield CudaWorker(files, warm)
            finally:
                warm.close()
                if not self._closed:
                    self._spare = self._background.submit(_warmed, self._mode, limits, "cuda")

    def warm_up(self, limits: Limits, *, device: Device = "cpu") -> None:
        """Start the first worker in the background, so that the first score waits less."""
        with self._lock:
            if self._spare is None and not self._closed:
                self._spare = self._background.submit(_warmed, self._mode, limits, device)

    def close(self) -> None:
        """End the spare worker. May be repeated."""
        self._closed = True
        spare, self._spare = self._spare, None
        if spare is not None and not spare.cancel():
            with contextlib.suppress(Exception):
                spare.result().close()
        self._background.shutdown()
        atexit.unregister(self.close)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def _warm(self, limits: Limits, device: Device) -> WarmWorker:
        """Take the spare worker if it fits, else start one."""
        if self._spare is not None:
            wait([self._spare])  # may be interrupted; then the spare is still known to `close`
            spare, self._spare = self._spare, None
            warm = spare.result()
            if (warm.limits, warm.device) == (limits, device) and warm.box.wait(0) is None:
                return warm
            warm.close()
        return _warmed(self._mode, limits, device)


def _waited(running: box.Box, timeout_s: float, pauses: Pauses | None) -> tuple[int | None, float]:
    """Wait for the end of a run, which stands still now and then.

    Returns:
        Its exit status, or None if it still runs after the time; the seconds of the pauses.
    """
    left_s, paused_s = timeout_s, 0.0
    while pauses is not None and left_s > pauses.every_s:
        code = running.wait(pauses.every_s)
        if code is not None:
            return code, paused_s
        left_s -= pauses.every_s
        began = time.monotonic()
        try:
            if running.freeze():
                pauses.act()
        finally:
            running.thaw()
        paused_s += time.monotonic() - began
    return running.wait(left_s), paused_s


def _children_cpu_s() -> float:
    """CPU seconds of processes that this one has waited for, and of those they waited for."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def worker_site_packages() -> Path:
    """Folder of the packages that submissions find installed."""
    return next(worker_env().glob("lib/python3.*/site-packages"), worker_env() / "lib")


def _warmed(mode: IsolationMode, limits: Limits, device: Device) -> WarmWorker:
    warm = WarmWorker(mode, limits, device)
    warm.wait_until_ready()
    return warm
