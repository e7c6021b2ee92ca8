"""Time an untrusted function on a GPU, from outside its process.

Events and clocks of the worker can't be trusted, and a synchronisation here does not wait for
its kernels. So inputs and outputs lie in device memory that both sides map, and the clock runs
from before the inputs are copied there until this side has gathered secret positions of the
outputs: a kernel that is still running then is seen, or paid for. Several pairs of buffers share
one go, and what a trusted trivial function needs under the same conditions is taken off.

Needs torch with CUDA on the trusted side.
"""

import json
import math
import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from statistics import median
from typing import TYPE_CHECKING, Self

from openrebench.isolation import channel
from openrebench.isolation.device_memory import DeviceBuffer
from openrebench.isolation.worker import Session, WarmWorker

if TYPE_CHECKING:
    import torch

FLUSH_WORDS = 64 << 20  # 256 MiB, several times any L2
INT_BYTES = 4
CALIBRATION_GOES = 9
# Launches once a go: what the process switch and the messages cost. The launches of a real function
# after its first are hidden behind its own work.
TRIVIAL = """
calls = 0

def f(x, out):
    global calls
    if calls % {pairs} == 0:
        out[:1].copy_(x[:1])
    calls += 1
    return out
"""


@dataclass(frozen=True)
class Go:
    """What one go over several inputs gave.

    Args:
        elapsed_s: Wall time of all pairs together, the trivial function's share not yet off.
        events_s: What the worker's own events say of the same pairs: anything it likes; nan
            where it said no number.
        looked: For each pair the output at the secret positions, gathered while the clock ran.
        outputs: The whole outputs: views of memory that the worker can still write to.
    """

    elapsed_s: float
    events_s: float
    looked: "list[torch.Tensor]"
    outputs: "list[torch.Tensor]"


class CudaWorker(Session):
    """A submission that computes on a GPU; close it after use."""

    def __init__(self, files: Mapping[str, bytes], warm: WarmWorker) -> None:
        super().__init__(files, warm)
        self._inputs: list[DeviceBuffer] = []
        self._outputs: list[DeviceBuffer] = []

    def load(self, module: str, function: str, *, n: int, pairs: int) -> None:
        """Share device buffers, send the files and import a module of them.

        Args:
            module: Dotted name, below the submission's folder.
            function: What to call in it.
            n: Elements, int32, of the largest input.
            pairs: Inputs of one go.

        Raises:
            InvalidSubmission: The module is missing, or can't be imported within the limits.
        """
        import torch

        torch.zeros(1, device="cuda")  # makes the context
        nbytes = max(n, 1) * INT_BYTES
        self._inputs = [DeviceBuffer.allocate(nbytes) for _ in range(pairs)]
        self._outputs = [DeviceBuffer.allocate(nbytes) for _ in range(pairs)]
        self._flush = torch.empty(FLUSH_WORDS, dtype=torch.int32, device="cuda")
        both = zip(self._inputs, self._outputs, strict=True)
        descriptors = [buffer.descriptor() for pair in both for buffer in pair]
        try:
            self._import(module, function, {"bytes": nbytes}, descriptors)
        finally:
            for descriptor in descriptors:
                os.close(descriptor)

    def go(self, inputs: "Sequence[torch.Tensor]", positions: "Sequence[torch.Tensor]") -> Go:
        """Call the function once on each input, and take the time of all.

        Args:
            inputs: (n,) each, int32, in device memory that only this side maps.
            positions: For each, int64 indices to look at before the clock stops.

        Raises:
            InvalidSubmission: The function failed, or what came back is no output.
        """
        import torch

        self._calls += 1
        timeout_s = self._limits.call_timeout_s
        shared = [b.ints()[: len(x)] for b, x in zip(self._inputs, inputs, strict=False)]
        outputs = [b.ints()[: len(x)] for b, x in zip(self._outputs, inputs, strict=False)]
        poison(outputs)
        self._flush.zero_()
        torch.cuda.synchronize()
        nonce = os.urandom(channel.NONCE_BYTES)
        request = nonce + json.dumps([len(x) for x in inputs]).encode()
        with self._judged(f"no result within {timeout_s:g} s of call {self._calls}"):
            self._expect_silence()
            started = channel.clock()
            for target, x in zip(shared, inputs, strict=True):
                target.copy_(x)
            torch.cuda.synchronize()
            self._warm.channel.send(request, [], timeout_s)
            answer = self._warm.channel.spin(timeout_s)
            looked = look(outputs, positions)
            elapsed_s = channel.clock() - started
            self._check(answer, nonce)
        return Go(elapsed_s, _claimed_s(answer.text), looked, outputs)

    def close(self) -> None:
        """Give the device memory back; the worker must have been ended."""
        for buffer in (*self._inputs, *self._outputs):
            buffer.close()
        self._inputs, self._outputs = [], []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _claimed_s(answer: str) -> float:
    """Read the milliseconds that an answer remarks."""
    try:
        return float(answer.partition(" ")[2]) / 1e3
    except ValueError:
        return math.nan


def poison(outputs: "list[torch.Tensor]") -> None:
    """Fill buffers with random words, so that what stood there can't pass for a result."""
    for output in outputs:
        output.random_()


def look(
    outputs: "list[torch.Tensor]", positions: "Sequence[torch.Tensor]"
) -> "list[torch.Tensor]":
    """Gather the outputs at the secret positions, and wait until that is done."""
    import torch

    looked = [o[p] for o, p in zip(outputs, positions, strict=True)]
    torch.cuda.synchronize()
    return looked


def trivial_s(
    open_worker: "Callable[[Mapping[str, bytes]], AbstractContextManager[CudaWorker]]",
    inputs: "Sequence[torch.Tensor]",
    positions: "Sequence[torch.Tensor]",
) -> float:
    """Measure a go of a trusted function that does next to nothing: median of several.

    Args:
        open_worker: Opens a worker for a submission's files.
        inputs: As in the goes to be calibrated.
        positions: As there.
    """
    files = {"trivial.py": TRIVIAL.format(pairs=len(inputs)).encode()}
    with open_worker(files) as worker:
        worker.load("trivial", "f", n=max(len(x) for x in inputs), pairs=len(inputs))
        goes = [worker.go(inputs, positions).elapsed_s for _ in range(CALIBRATION_GOES)]
    return median(goes[2:])
