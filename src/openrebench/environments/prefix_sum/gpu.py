"""Score a prefix sum on a GPU: the same inputs and checks, timed through shared device memory."""

import contextlib
import itertools
import math
import os
from collections.abc import Iterator
from collections.abc import Set as AbstractSet
from functools import partial
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING

from openrebench.core.card import Profile
from openrebench.core.environment import Measurement
from openrebench.core.seed import Seed
from openrebench.environments.prefix_sum.inputs import check_floor, correctness_inputs, difference
from openrebench.errors import InvalidSubmission, Reason
from openrebench.isolation.cuda_worker import Buffers, CudaWorker, Go, trivial_s
from openrebench.isolation.device import processes_on_gpu
from openrebench.isolation.runner import Runner
from openrebench.isolation.snapshot import take

if TYPE_CHECKING:
    import torch

LOOKED_AT = 65_536  # secret positions gathered while the clock runs
CLOCK_ERROR_MS = 0.03  # of the calibrated clock, against events of an honest kernel
CLOCK_ERROR = 0.03  # likewise, of a time of milliseconds
ROOM = 0.6  # of the card's memory, for inputs and outputs; the rest is the solution's
BYTES_OF_A_PAIR = 3 * 4  # for each number: our copy of the input, and the shared input and output
COPIES = 200  # 40 ms of them: the first are slow, since an idle card has low clocks


def score_on_gpu(submission: Path, runner: Runner, profile: Profile, seed: Seed) -> Measurement:
    """Give the median time of one call in ms: a go over several pairs, less the trivial go.

    Args:
        submission: Snapshot of the submission's files.
        runner: Runs the submission.
        profile: Has `n`, `pairs` (at most), `warm_calls` and `timed_calls`.
        seed: All randomness of this score.
    """
    import torch

    n, pairs = profile.integer("n"), fitting_pairs(profile)
    strangers = processes_on_gpu() - {os.getpid()}
    files = take(submission, ["**/*"], profile.limits.tmp_bytes).files
    inputs = torch.empty((pairs, n), dtype=torch.int32, device=profile.device)
    with contextlib.closing(Buffers(n, pairs)) as buffers:
        # The submission finds what is drawn here in the buffers: no go has the same inputs.
        draw(inputs, seed, "calibration")
        opened = partial(runner.cuda_worker, limits=profile.limits)
        spots = positions(seed, "calibration", inputs)
        trivial = trivial_s(opened, buffers, inputs, spots)
        with opened(files) as worker:
            worker.load("solution", "prefix_sum", buffers)
            for name, x in correctness_inputs(seed):
                _checked_go(worker, torch.from_numpy(x)[None].to(inputs.device), seed, name)
            goes = list(_timed(worker, profile, inputs, seed))
        floor_ms = copy_ms(buffers)
    times_ms = [(go.elapsed_s - trivial) * 1e3 / pairs for go in goes]
    raw, events_ms = _median(times_ms), _median([go.events_s * 1e3 / pairs for go in goes])
    check_floor(raw, floor_ms, CLOCK_ERROR_MS)
    return Measurement(
        raw=raw,
        message=f"median {raw} ms over {len(times_ms)} goes of {pairs} calls with {n} elements",
        details={
            "times_ms": [round(t, 4) for t in times_ms],
            "trivial_ms": round(trivial * 1e3, 4),
            "copy_ms": round(floor_ms, 4),
            "events_ms": events_ms if math.isfinite(events_ms) else "none",
        },
        flags=tuple(_flags(raw, events_ms, floor_ms, strangers)),
    )


def _median(times_ms: list[float]) -> float:
    return float(f"{median(times_ms):.4g}")


def _flags(
    raw: float, events_ms: float, floor_ms: float, strangers: AbstractSet[int]
) -> Iterator[str]:
    """Say what a person should look at; none of it changes the verdict."""
    if raw < floor_ms:
        yield "physics: faster than a copy of the input"
    if not abs(raw - events_ms) <= CLOCK_ERROR_MS + CLOCK_ERROR * raw:
        yield f"events: the worker's own say {events_ms} ms a call, the clock {raw} ms"
    if strangers:
        yield f"nvml: {len(strangers)} other process(es) computed on this GPU when the score began"


def fitting_pairs(profile: Profile) -> int:
    """Give the number of inputs of a go: the profile's, or what the card has room for."""
    import torch

    room = ROOM * torch.cuda.get_device_properties(0).total_memory
    most = int(room) // (profile.integer("n") * BYTES_OF_A_PAIR)
    return max(1, min(profile.integer("pairs"), most))


def _timed(
    worker: CudaWorker, profile: Profile, inputs: "torch.Tensor", seed: Seed
) -> Iterator[Go]:
    """Make warm and timed goes, which the worker can't tell apart; check every output."""
    warm, timed = profile.integer("warm_calls"), profile.integer("timed_calls")
    for k in range(warm + timed):
        draw(inputs, seed, f"go {k + 1}")
        went = _checked_go(worker, inputs, seed, f"go {k + 1}")
        if k >= warm:
            yield went


def _checked_go(worker: CudaWorker, inputs: "torch.Tensor", seed: Seed, name: str) -> Go:
    """Compare what was looked at, and the whole outputs, with the oracle."""
    import torch

    from openrebench.environments.prefix_sum.hidden.cuda_oracle import prefix_sum as oracle

    spots = positions(seed, name, inputs)
    went = worker.go(inputs, spots)
    for x, output, looked, spot in zip(inputs, went.outputs, went.looked, spots, strict=True):
        expected = oracle(x)
        if not torch.equal(output, expected):
            sentence = difference(output.cpu().numpy(), expected.cpu().numpy(), name)
            raise InvalidSubmission(Reason.WRONG_OUTPUT, sentence)
        if not torch.equal(looked, expected[spot]):
            raise InvalidSubmission(
                Reason.WRONG_OUTPUT,
                f"solution.prefix_sum returned before its output was written ({name})",
            )
    return went


def draw(inputs: "torch.Tensor", seed: Seed, go: str) -> None:
    """Fill inputs, (pairs, n), with -10 to 9, each from a stream of its own."""
    import torch

    for j, row in enumerate(inputs):
        stream = torch.Generator(inputs.device)
        stream.manual_seed(int(seed.rng(f"timed {go} {j}").integers(1 << 62)))
        row.random_(-10, 10, generator=stream)


def positions(seed: Seed, name: str, inputs: "torch.Tensor") -> "torch.Tensor":
    """Draw secret positions to look at, as many for each input."""
    import torch

    pairs, n = inputs.shape
    drawn = seed.rng(f"looked at {name}").integers(0, max(n, 1), (pairs, min(LOOKED_AT, n)))
    return torch.from_numpy(drawn).to(inputs.device)


def copy_ms(buffers: Buffers) -> float:
    """Measure by this side's own events how long one input takes to copy: the best of several.

    From the very inputs to the very outputs: elsewhere in memory a copy may take longer.
    """
    import torch

    rows = itertools.cycle(zip(buffers.inputs, buffers.outputs, strict=True))
    times = []
    for source, target in itertools.islice(rows, COPIES):
        start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        start.record()
        target.copy_(source)
        end.record()
        torch.cuda.synchronize()
        times.append(float(start.elapsed_time(end)))
    return min(times)
