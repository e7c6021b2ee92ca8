"""Score a prefix sum: exact outputs first, then the time of calls with fresh secret inputs."""

import time
from collections.abc import Iterator
from pathlib import Path
from statistics import median
from typing import final

import numpy as np
from numpy.typing import NDArray

from openrebench.core.card import Profile
from openrebench.core.environment import Environment, Measurement
from openrebench.core.seed import Seed
from openrebench.environments.prefix_sum.hidden.oracle import prefix_sum as oracle
from openrebench.errors import InvalidSubmission, Reason
from openrebench.isolation.device import device_fingerprint
from openrebench.isolation.runner import Runner
from openrebench.isolation.worker import Worker

Ints = NDArray[np.int32]
INT32 = np.iinfo(np.int32)
LOOKED_AT = 4096  # secret positions read while the clock runs: unfinished work is seen or paid for
BUSY_SHARE = 0.3  # of idle time; more than this of CPU time is flagged


@final
class PrefixSum(Environment):
    """Time `prefix_sum` of `solution.py` on fresh inputs; the oracle stays on this side."""

    def unavailable(self, profile: Profile) -> str | None:
        """Say whether the profile's device is missing."""
        if profile.device == "cuda" and not device_fingerprint("cuda").available:
            return "needs an NVIDIA GPU and its driver; none was found"
        return None

    def score(
        self, submission: Path, runner: Runner, profile: Profile, *, seed: Seed
    ) -> Measurement:
        """Give the median wall time in ms (see `Environment.score`)."""
        n = profile.integer("n")
        with runner.worker(submission, profile.limits, device=profile.device) as worker:
            worker.load("solution", "prefix_sum", output_capacity_bytes=n * INT32.dtype.itemsize)
            for name, x in correctness_inputs(seed):
                _call(worker, x, seed, name)
            times_ms = _timed(worker, profile, seed)
            busy = worker.background_busy_share()
        raw = float(f"{median(times_ms):.4g}")
        _check_floor(raw, n)
        return Measurement(
            raw=raw,
            message=f"median {raw} ms over {len(times_ms)} calls with {n} elements, all exact",
            details={"times_ms": [round(t, 4) for t in times_ms], "background_cpu": round(busy, 3)},
            flags=(f"background_cpu: busy {busy:.0%} of idle time",) if busy > BUSY_SHARE else (),
        )


def correctness_inputs(seed: Seed) -> Iterator[tuple[str, Ints]]:
    """Yield untimed inputs: secret lengths, and values that timed inputs never have."""
    rng = seed.rng("correctness")
    powers = (2 ** rng.integers(8, 18, 3)).tolist()
    lengths = [0, 1, 2, 3, *(p + d for p in powers for d in (-1, 1)), int(rng.integers(5, 90_000))]
    for n in lengths:
        yield f"{n} elements", rng.integers(INT32.min, INT32.max, n, np.int32, endpoint=True)
    n = int(rng.integers(50_000, 90_000))
    yield "all positive", rng.integers(1, INT32.max, n, dtype=np.int32)
    yield "all negative", rng.integers(INT32.min, 0, n, dtype=np.int32)
    yield "all zero", np.zeros(n, np.int32)
    yield (
        "one positive",
        np.where(np.arange(n) == n // 2, 1, -rng.integers(1, 9, n)).astype(np.int32),
    )


def _timed(worker: Worker, profile: Profile, seed: Seed) -> list[float]:
    """Make warm and timed calls, which the worker can't tell apart; check every output."""
    warm, timed = profile.integer("warm_calls"), profile.integer("timed_calls")
    times_ms = []
    for k in range(warm + timed):
        x = seed.rng(f"timed {k}").integers(-10, 10, profile.integer("n"), dtype=np.int32)
        times_ms.append(_call(worker, x, seed, f"call {k + 1}"))
    return times_ms[warm:]


def _call(worker: Worker, x: Ints, seed: Seed, name: str) -> float:
    """Make one call and compare its output in full; give its wall time in ms."""
    positions = seed.rng(f"looked at {name}").integers(0, max(len(x), 1), min(LOOKED_AT, len(x)))
    call = worker.call(x, positions)
    expected = oracle(x)
    if not np.array_equal(call.output, expected):
        raise InvalidSubmission(Reason.WRONG_OUTPUT, _difference(call.output, expected, name))
    if not np.array_equal(call.looked, expected[positions]):
        raise InvalidSubmission(
            Reason.WRONG_OUTPUT,
            f"solution.prefix_sum returned before its output was written ({name})",
        )
    return call.elapsed_s * 1e3


def _difference(got: Ints, expected: Ints, name: str) -> str:
    wrong = np.flatnonzero(got != expected)
    first = int(wrong[0])
    return (
        f"solution.prefix_sum is wrong at {len(wrong)} of {len(expected)} positions ({name}); "
        f"first at {first}: got {got[first]}, expected {expected[first]}"
    )


def _check_floor(raw_ms: float, n: int) -> None:
    """Refuse a time in which the numbers can't even have been copied once."""
    source, target = np.ones(n, np.int32), np.zeros(n, np.int32)
    copies_ms = []
    for _ in range(3):
        started = time.perf_counter()
        np.copyto(target, source)
        copies_ms.append((time.perf_counter() - started) * 1e3)
    if raw_ms < min(copies_ms):
        raise InvalidSubmission(
            Reason.IMPOSSIBLE,
            f"{raw_ms} ms is less than copying the input takes here ({min(copies_ms):.2f} ms)",
        )
