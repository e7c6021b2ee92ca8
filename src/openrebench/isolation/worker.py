"""The trusted handle of a process that has a submission loaded.

The trusted side and the worker share a socket, one output buffer, and for each call a new input
file. A request is 32 secret bytes (a nonce) and, for loading, a JSON order; files come along.
The answer is the same nonce and `ok`, or a reason and one sentence. Nothing else is read.

Comparing outputs is left to the environment: here nothing is known of right answers.
"""

import contextlib
import json
import os
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

import numpy as np
from numpy.typing import NDArray

from openrebench.errors import InvalidSubmission, Reason, RunnerUnavailable
from openrebench.isolation import box, channel
from openrebench.isolation.channel import Answer, Channel, Dead, Ints, Timeout
from openrebench.isolation.cuda import cuda_devices
from openrebench.isolation.layout import Bind, BoxSpec
from openrebench.isolation.runner import Device, IsolationMode, Limits

HERE = Path(__file__).parent
SHIM_FILES = ("shim.py", "device_memory.py")
SOLUTION, INSIDE = "/solution", "/opt/shim"
START_TIMEOUT_S = 120.0
IDLE_S = 0.01
DEATH_TIMEOUT_S = 2.0
TEXT_CHARACTERS = 300
REASONS = {str(reason): reason for reason in Reason}
# One thread unless the submission wants more: several that spin on a busy machine are far slower,
# and idle CPU time is looked at.
ENV = {"OMP_NUM_THREADS": "1", "OMP_WAIT_POLICY": "passive", "PYTHONUNBUFFERED": "1"}


@dataclass(frozen=True, kw_only=True)
class Call:
    """What one call gave.

    Args:
        elapsed_s: Wall time from before the worker could know the input until the looked-at
            positions had been read.
        looked: Output at the secret positions, read while the clock ran.
        output: The whole output as it was right after that; the worker can't change it.
    """

    elapsed_s: float
    looked: Ints
    output: Ints


class Session:
    """One submission in one sandbox: sends the files, and turns what goes wrong into a verdict.

    Args:
        files: The submission.
        warm: A started process that has no submission yet.
    """

    def __init__(self, files: Mapping[str, bytes], warm: "WarmWorker") -> None:
        self._files = files
        self._warm = warm
        self._limits = warm.limits
        self._name = ""
        self._calls = 0

    def _import(
        self, module: str, function: str, places: dict[str, object], fds: list[int]
    ) -> None:
        """Send the files, and where inputs and outputs are; wait until the module is imported."""
        path = module.replace(".", "/")
        if not {f"{path}.py", f"{path}/__init__.py"} & set(self._files):
            raise InvalidSubmission(Reason.MISSING_FILE, f"the submission has no {path}.py")
        self._name = f"{path}.py"
        files_fd = channel.archive(self._files)
        order = {"module": module, "function": function, **places}
        nonce, timeout_s = os.urandom(channel.NONCE_BYTES), self._limits.load_timeout_s
        try:
            with self._judged(f"{self._name} was not imported within {timeout_s:g} s"):
                request = nonce + json.dumps(order).encode()
                self._warm.channel.send(request, [files_fd, *fds], timeout_s)
                self._check(self._warm.channel.answer(timeout_s), nonce)
        finally:
            os.close(files_fd)

    def _expect_silence(self) -> None:
        """Refuse a message that came before anything was asked."""
        if not self._warm.channel.is_silent():
            self._warm.channel.receive(0)  # its end, if the worker has died
            _break_rule("the worker sent a message that nobody asked for")

    def cpu_s(self) -> float:
        """CPU seconds that the submission's processes have used so far."""
        return self._warm.box.cpu_ns() / 1e9

    def background_cpu_s(self) -> float:
        """CPU seconds used during 10 ms in which nothing was asked of the worker."""
        return self._warm.background()[0]

    def background_busy_share(self) -> float:
        """Share of idle time in which the worker was busy; can exceed 1 on several cores."""
        used_s, idle_s = self._warm.background()
        return used_s / idle_s

    @contextlib.contextmanager
    def _judged(self, late: str):  # type: ignore[no-untyped-def] # noqa: ANN202
        """Turn what can happen to an exchange into the submission's fault, with its reason."""
        try:
            yield
        except Timeout:
            self._judge_death(wait=False)
            raise InvalidSubmission(Reason.TIMED_OUT, late) from None
        except Dead:
            self._judge_death(wait=True)

    def _judge_death(self, *, wait: bool) -> None:
        """Say what ended the worker; returns if nothing did and `wait` is off."""
        running = self._warm.box
        code = running.wait(DEATH_TIMEOUT_S if wait else 0)
        if running.flooded:
            limit = _size(self._limits.output_bytes)
            _break_rule(f"wrote more than {limit} to standard output or error")
        if running.out_of_memory:
            _out_of_memory(self._limits)
        if code is not None or wait:
            how = "closed its connection" if code is None else f"ended ({_status(code)})"
            raise InvalidSubmission(Reason.CRASHED, f"the process of {self._name} {how}")

    def _check(self, answer: Answer, nonce: bytes) -> None:
        if answer.nonce != nonce:
            _break_rule("the worker answered something that was not asked")
        code, _, sentence = answer.text.partition(" ")
        if code == "ok":
            return
        reason = REASONS.get(code, Reason.RULE_BROKEN)
        if reason is Reason.OUT_OF_MEMORY or self._warm.box.out_of_memory:
            _out_of_memory(self._limits)
        raise InvalidSubmission(reason, _one_line(sentence))


class Worker(Session):
    """A submission that computes on the CPU."""

    def __init__(self, files: Mapping[str, bytes], warm: "WarmWorker") -> None:
        super().__init__(files, warm)
        self._output: Ints = np.empty(0, np.int32)

    def load(self, module: str, function: str, *, output_capacity_bytes: int) -> None:
        """Send the files and import a module of them.

        Args:
            module: Dotted name, below the submission's folder.
            function: What to call in it.
            output_capacity_bytes: Size of the largest output that a call may give.

        Raises:
            InvalidSubmission: The module is missing, or can't be imported within the limits.
        """
        output_fd, self._output = channel.shared_output(output_capacity_bytes)
        try:
            self._import(module, function, {}, [output_fd])
        finally:
            os.close(output_fd)

    def call(self, x: Ints, positions: NDArray[np.int64]) -> Call:
        """Call the function on an input that nobody has seen, and take the time.

        Args:
            x: One dimension; the output has as many elements.
            positions: Where to look before the clock stops; unknown to the worker.

        Raises:
            InvalidSubmission: The function failed, or what came back is no output.
        """
        self._calls += 1
        output, timeout_s = self._output[: len(x)], self._limits.call_timeout_s
        if len(output) < len(x):
            raise ValueError(f"an output of {x.nbytes} bytes is more than was announced to load")
        input_fd = channel.fresh_input_fd(x)
        try:
            channel.poison(output)
            with self._judged(f"no result within {timeout_s:g} s of call {self._calls}"):
                self._expect_silence()
                exchanged = timed_exchange(
                    self._warm.channel, input_fd, output, positions, timeout_s
                )
                self._check(exchanged.answer, exchanged.nonce)
        finally:
            os.close(input_fd)
        whole = output.copy()
        whole.flags.writeable = False
        return Call(elapsed_s=exchanged.elapsed_s, looked=exchanged.looked, output=whole)


@dataclass(frozen=True, kw_only=True)
class Exchange:
    """A call as it went."""

    nonce: bytes
    answer: Answer
    looked: Ints
    elapsed_s: float


def timed_exchange(
    line: Channel,
    input_fd: int,
    output: Ints,
    positions: NDArray[np.int64],
    timeout_s: float,
) -> Exchange:
    """Hand over the input and wait, between two readings of the clock.

    The worker can't know the input before the first reading, and what it has not written by
    the second is either seen to be missing or was paid for.
    """
    nonce = os.urandom(channel.NONCE_BYTES)
    started = channel.clock()
    line.send(nonce, [input_fd], timeout_s)
    answer = line.answer(timeout_s)
    looked = output[positions]
    elapsed_s = channel.clock() - started
    return Exchange(nonce=nonce, answer=answer, looked=looked, elapsed_s=elapsed_s)


class WarmWorker:
    """A started sandbox whose process has imported torch and waits for one submission."""

    def __init__(self, mode: IsolationMode, limits: Limits, device: Device) -> None:
        self.limits, self.device = limits, device
        self.channel = Channel()
        theirs = self.channel.theirs.fileno()
        try:
            self.box = box.start(_spec(mode, limits, device, theirs))
        except BaseException:
            self.channel.close()
            raise
        finally:
            self.channel.close_theirs()

    def wait_until_ready(self) -> None:
        """Wait until everything but the submission is loaded.

        Raises:
            RunnerUnavailable: The process did not get that far; it has been ended.
        """
        with contextlib.suppress(Timeout, Dead):
            if self.channel.receive(START_TIMEOUT_S) == b"ready":
                return
        self.close()
        last = self.box.output.decode("utf-8", "replace").strip().rpartition("\n")[2]
        raise RunnerUnavailable(f"a worker did not start: {_one_line(last) or 'no reason given'}")

    def background(self) -> tuple[float, float]:
        """Measure CPU seconds used, and wall seconds, while nothing is asked for."""
        started, used = time.perf_counter(), self.box.cpu_ns()
        time.sleep(IDLE_S)
        return (self.box.cpu_ns() - used) / 1e9, time.perf_counter() - started

    def close(self) -> None:
        """End the process and everything that it started."""
        self.channel.close()
        self.box.kill()


def _spec(mode: IsolationMode, limits: Limits, device: Device, fd: int) -> BoxSpec:
    return BoxSpec(
        argv=("python", "-I", f"{INSIDE}/shim.py", str(fd), SOLUTION, device),
        mode=mode,
        limits=limits,
        binds=tuple(Bind(source=HERE / name, target=f"{INSIDE}/{name}") for name in SHIM_FILES),
        tmpfs=(SOLUTION,),
        env=ENV,
        pass_fds=(fd,),
        devices=() if device == "cpu" else cuda_devices(),
    )


def _break_rule(sentence: str) -> NoReturn:
    raise InvalidSubmission(Reason.RULE_BROKEN, sentence)


def _out_of_memory(limits: Limits) -> NoReturn:
    raise InvalidSubmission(
        Reason.OUT_OF_MEMORY, f"needed more than {_size(limits.memory_bytes)} of memory"
    )


def _one_line(text: str) -> str:
    """Make untrusted text fit for a terminal and a log."""
    return " ".join("".join(c if c.isprintable() else " " for c in text).split())[:TEXT_CHARACTERS]


def _status(code: int) -> str:
    return f"signal {-code}" if code < 0 else f"exit status {code}"


def _size(count: int) -> str:
    for unit, power in (("GiB", 30), ("MiB", 20), ("KiB", 10)):
        if count >= 1 << power:
            return f"{count / (1 << power):g} {unit}"
    return f"{count} bytes"
