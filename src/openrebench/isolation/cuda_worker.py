"""Time an untrusted function on a GPU, from outside its process.

Events and clocks of the worker can't be trusted, and a synchronisation here does not wait for
its kernels. So inputs and outputs lie in device memory that both sides map, and the clock runs
from before the inputs are copied there until this side has gathered secret positions of the
outputs: a kernel that is still running then is seen, or paid for. Several inputs share one go, and
what a trusted trivial function needs under the same conditions is taken off. This side launches one
copy and one look a go: more would make its own time depend on how busy the host is.

Needs torch with CUDA on the trusted side.
"""

import json
import math
import os
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from statistics import median
from typing import TYPE_CHECKING

from openrebench.isolation import channel
from openrebench.isolation.device_memory import DeviceBuffer
from openrebench.isolation.worker import Session

if TYPE_CHECKING:
    import torch

FLUSH_WORDS = 64 << 20  # 256 MiB, several times any L2
INT_BYTES = 4
ROW_WORDS = 64  # rows begin at multiples of 256 bytes, as allocations do
CALIBRATION_GOES, UNCOUNTED = 25, 2
# Called once a go, for what the switch between processes and the messages cost: all but the first
# call of a real function are hidden behind its work.
TRIVIAL = b"""
def f(x, out):
    out[:1].copy_(x[:1])
    return out
"""


@dataclass(frozen=True)
class Go:
    """What one go over several inputs gave.

    Args:
        elapsed_s: Wall time of all inputs together, the trivial function's share not yet off.
        events_s: What the worker's own events say of the same calls: anything it likes; nan
            where it said no number.
        looked: The outputs at the secret positions, gathered while the clock ran; (pairs, looks).
        outputs: The whole outputs: a view of memory that the worker can still write to.
    """

    elapsed_s: float
    events_s: float
    looked: "torch.Tensor"
    outputs: "torch.Tensor"


class Buffers:
    """Device memory for the inputs and outputs of a go, lent to one worker after the other.

    The trivial function is timed over the very memory that the submission gets afterwards.

    Args:
        n: Elements, int32, of the largest input.
        pairs: Inputs of one go.
    """

    def __init__(self, n: int, pairs: int) -> None:
        import torch

        self.flush = torch.empty(FLUSH_WORDS, dtype=torch.int32, device="cuda")
        nbytes = row_words(n) * pairs * INT_BYTES
        self._memory = [DeviceBuffer.allocate(nbytes) for _ in range(2)]
        self.places: dict[str, object] = {"bytes": nbytes, "rows": pairs}
        self.inputs, self.outputs = (memory.ints().view(pairs, -1) for memory in self._memory)

    def descriptors(self) -> list[int]:
        """Give new file descriptors of all inputs and of all outputs."""
        return [memory.descriptor() for memory in self._memory]

    def close(self) -> None:
        """Give the memory back; workers that had it must have been ended."""
        for memory in self._memory:
            memory.close()


def row_words(n: int) -> int:
    """Give the words between the beginnings of two inputs of up to `n` elements.

    >>> row_words(100), row_words(0)
    (128, 64)
    """
    return max(1, -(-n // ROW_WORDS)) * ROW_WORDS


class CudaWorker(Session):
    """A submission that computes on a GPU."""

    def load(self, module: str, function: str, buffers: Buffers) -> None:
        """Lend the buffers, send the files and import a module of them.

        Args:
            module: Dotted name, below the submission's folder.
            function: What to call in it.
            buffers: No other process may map them now.

        Raises:
            InvalidSubmission: The module is missing, or can't be imported within the limits.
        """
        self._buffers = buffers
        descriptors = buffers.descriptors()
        try:
            self._import(module, function, buffers.places, descriptors)
        finally:
            for descriptor in descriptors:
                os.close(descriptor)

    def go(
        self, inputs: "torch.Tensor", positions: "torch.Tensor", *, calls: int | None = None
    ) -> Go:
        """Call the function once on each input, and take the time of all.

        Args:
            inputs: (pairs, n), int32, in device memory that only this side maps.
            positions: (pairs, looks), int64: where to look before the clock stops.
            calls: Only on so many of the inputs; all are copied and looked at.

        Raises:
            InvalidSubmission: The function failed, or what came back is no output.
        """
        import torch

        self._calls += 1
        timeout_s = self._limits.call_timeout_s
        pairs, n = inputs.shape
        shared, outputs = (b[:pairs, :n] for b in (self._buffers.inputs, self._buffers.outputs))
        poison(outputs)
        self._buffers.flush.zero_()
        torch.cuda.synchronize()
        nonce = os.urandom(channel.NONCE_BYTES)
        request = nonce + json.dumps([pairs if calls is None else calls, n]).encode()
        with self._judged(f"no result within {timeout_s:g} s of call {self._calls}"):
            self._expect_silence()
            started = channel.clock()
            shared.copy_(inputs)
            torch.cuda.synchronize()
            self._warm.channel.send(request, [], timeout_s)
            answer = self._warm.channel.spin(timeout_s)
            looked = look(outputs, positions)
            elapsed_s = channel.clock() - started
            self._check(answer, nonce)
        return Go(elapsed_s, _claimed_s(answer.text), looked, outputs)


def _claimed_s(answer: str) -> float:
    """Read the milliseconds that an answer remarks."""
    try:
        return float(answer.partition(" ")[2]) / 1e3
    except ValueError:
        return math.nan


def poison(outputs: "torch.Tensor") -> None:
    """Fill outputs with random words, so that what stood there can't pass for a result."""
    for output in outputs:  # a row at a time: all together have more than 2^31 elements
        output.random_()


def look(outputs: "torch.Tensor", positions: "torch.Tensor") -> "torch.Tensor":
    """Gather the outputs at the secret positions, and wait until that is done."""
    import torch

    looked = outputs.gather(1, positions)
    torch.cuda.synchronize()
    return looked


def trivial_s(
    open_worker: "Callable[[Mapping[str, bytes]], AbstractContextManager[CudaWorker]]",
    buffers: Buffers,
    inputs: "torch.Tensor",
    positions: "torch.Tensor",
) -> float:
    """Measure a go of a trusted function that does next to nothing: median of several.

    Args:
        open_worker: Opens a worker for a submission's files.
        buffers: What the submission will get.
        inputs: As in the goes to be calibrated.
        positions: As there.
    """
    with open_worker({"trivial.py": TRIVIAL}) as worker:
        worker.load("trivial", "f", buffers)
        goes = [worker.go(inputs, positions, calls=1) for _ in range(CALIBRATION_GOES)]
    return median(go.elapsed_s for go in goes[UNCOUNTED:])
