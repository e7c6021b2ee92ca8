"""What the trusted side asks of a sandbox, whatever it is made of."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Literal, Protocol

from pydantic import BaseModel, ConfigDict, Field

if TYPE_CHECKING:
    from openrebench.isolation.cuda_worker import CudaWorker
    from openrebench.isolation.worker import Worker

Device = Literal["cpu", "cuda"]


class IsolationMode(StrEnum):
    """How strongly untrusted code is shut in, strongest first.

    BUBBLEWRAP_CGROUP: own uid, all namespaces, seccomp, control groups (started by root).
    BUBBLEWRAP: all namespaces and seccomp, same uid outside, no control groups (ordinary user).
    LANDLOCK: no namespaces; file rules, seccomp, own uid if started by root.
    SUBPROCESS: another process, own uid if started by root; scores are marked, not comparable.
    """

    BUBBLEWRAP_CGROUP = "bubblewrap+cgroup"
    BUBBLEWRAP = "bubblewrap"
    LANDLOCK = "landlock"
    SUBPROCESS = "subprocess"


class Limits(BaseModel):
    """Limits of one run or of one worker.

    Attributes:
        load_timeout_s: Wall time to start and import the submission.
        call_timeout_s: Wall time of a run, or of one call into a worker.
        memory_bytes: Memory of the whole process tree.
        processes: Processes and threads at a time.
        output_bytes: What may be written to standard output and error together.
        tmp_bytes: Size of the private /tmp.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    load_timeout_s: float = Field(gt=0, default=60.0)
    call_timeout_s: float = Field(gt=0, default=60.0)
    memory_bytes: int = Field(gt=0, default=4 << 30)
    processes: int = Field(gt=0, default=64)
    output_bytes: int = Field(gt=0, default=1 << 20)
    tmp_bytes: int = Field(gt=0, default=256 << 20)


@dataclass(frozen=True, kw_only=True)
class Pauses:
    """What this side does now and then while everything of a run stands still.

    Args:
        every_s: Wall seconds of the run from one to the next.
        act: Called then; its time counts neither as the run's nor towards its limit. It is left out
            where the run can't be stopped.
    """

    every_s: float
    act: Callable[[], None]


@dataclass(frozen=True, kw_only=True)
class RunResult:
    """What a finished run left.

    Args:
        returncode: Exit status; negative signal number when killed by a signal.
        output: Standard output and error, interleaved, cut at the limit. Untrusted.
        timed_out: Ended by the wall-time limit.
        out_of_memory: Ended by the memory limit (only known where control groups are).
        too_much_output: Ended by the output limit.
        elapsed_s: Wall seconds, taken by the trusted side.
        cpu_s: CPU seconds of all processes and threads that ever ran in it, until the command
            ended; None in the mode `bubblewrap`, where nothing counts them.
    """

    returncode: int
    output: bytes
    timed_out: bool
    out_of_memory: bool
    too_much_output: bool
    elapsed_s: float
    cpu_s: float | None


class Runner(Protocol):
    """Runs untrusted files within limits; everything it started is gone afterwards."""

    @property
    def mode(self) -> IsolationMode:
        """The isolation that every run of this runner gets."""

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
        """Run a command without network in a throw-away sandbox.

        Args:
            argv: Command; `python` is the worker environment's interpreter.
            workspace: Folder mounted read-write as the working directory `/workspace`.
            limits: Ends the run when exceeded.
            env: Further environment variables; of the host's, those in `cuda.SWITCHES` are passed
                with `cuda`, and nothing else.
            stdin: What the command reads.
            device: `cuda` lets it use the machine's GPUs, or those that CUDA_VISIBLE_DEVICES names.
            pauses: What to do now and then while the run stands still.

        Raises:
            RunnerUnavailable: The sandbox could not be started.
        """

    def worker(self, submission: Path, limits: Limits) -> AbstractContextManager["Worker"]:
        """Start a worker that has the submission's files and nothing else of ours.

        The worker is killed, with every process it started, when the context ends.

        Args:
            submission: Folder of the files to score.
            limits: Limits of the worker; `call_timeout_s` holds for each call.

        Raises:
            RunnerUnavailable: The sandbox could not be started.
        """

    def cuda_worker(
        self, files: Mapping[str, bytes], limits: Limits
    ) -> AbstractContextManager["CudaWorker"]:
        """Start a worker that computes on a GPU and shares device memory with this side.

        Args:
            files: The submission's files by relative path.
            limits: As for `worker`.

        Raises:
            RunnerUnavailable: The sandbox could not be started.
        """
