"""A process of our own that trains one run after the other, and can be ended at any moment.

`python -m openrebench.environments.scaling_law.training_process` reads runs and writes losses, one
JSON line each. It imports torch, so that the process which meters does not have to.
"""

import contextlib
import json
import os
import subprocess
import sys
from dataclasses import asdict, dataclass
from threading import Lock
from typing import Protocol

from openrebench.environments.scaling_law.recipe import Family
from openrebench.errors import ScoringError


@dataclass(frozen=True, kw_only=True)
class Job:
    """One run, with everything that decides its loss."""

    family: Family
    n_embd: int
    max_iters: int
    rate: float
    seed: int
    device: str

    def to_json(self) -> str:
        """Write it in one line."""
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, line: str) -> "Job":
        """Read it back."""
        fields = json.loads(line)
        return cls(**{**fields, "family": Family(**fields["family"])})


class Trains(Protocol):
    """What trains runs."""

    def train(self, job: Job) -> float:
        """Give a run's loss in nats; waits for its turn."""

    def close(self) -> None:
        """End a run that is being trained, too."""


class TrainingProcess:
    """Trains in a process that is started with the first run. One run at a time, others wait."""

    def __init__(self) -> None:
        self._turn, self._lock = Lock(), Lock()
        self._process: subprocess.Popen[str] | None = None
        self._closed = False

    def train(self, job: Job) -> float:
        """Give a run's loss in nats; waits for its turn.

        Raises:
            ScoringError: The process ended, or was closed.
        """
        with self._turn:
            process = self._running()
            assert process.stdin is not None and process.stdout is not None
            with contextlib.suppress(BrokenPipeError):
                process.stdin.write(job.to_json() + "\n")
                process.stdin.flush()
            line = process.stdout.readline()
        if not line:
            raise ScoringError(f"the training process ended with {process.poll()}")
        return float(line)

    def close(self) -> None:
        """End the process, and what it is training. Calling again does nothing."""
        with self._lock:
            self._closed = True
            if self._process is not None:
                self._process.kill()
                with contextlib.suppress(BrokenPipeError), self._process:
                    pass  # waits for its end and closes the pipes

    def _running(self) -> "subprocess.Popen[str]":
        with self._lock:
            if self._closed:
                raise ScoringError("the training process is closed")
            if self._process is None or self._process.poll() is not None:
                self._process = subprocess.Popen(
                    [sys.executable, "-m", __name__],
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    text=True,
                    env={**os.environ, "OMP_NUM_THREADS": "1"},
                )
            return self._process


def main() -> None:
    """Train what comes in, until nothing comes any more."""
    import torch

    from openrebench.environments.scaling_law.trainer import train

    torch.set_num_threads(1)
    for line in sys.stdin:
        job = Job.from_json(line)
        loss = train(
            job.family,
            n_embd=job.n_embd,
            max_iters=job.max_iters,
            rate=job.rate,
            seed=job.seed,
            device=job.device,
        )
        sys.stdout.write(f"{loss!r}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
