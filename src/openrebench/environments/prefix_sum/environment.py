"""Score a prefix sum: exact outputs first, then the time of calls with fresh secret inputs."""

import time
from pathlib import Path
from statistics import median
from typing import NamedTuple, final

import numpy as np
from numpy.typing import NDArray

from openrebench.core.card import Profile
from openrebench.core.environment import Environment, Measurement
from openrebench.core.seed import Seed
from openrebench.environments.prefix_sum.gpu import score_on_gpu
from openrebench.environments.prefix_sum.hidden.oracle import prefix_sum as oracle
from openrebench.environments.prefix_sum.inputs import check_floor, correctness_inputs, difference
from openrebench.errors import InvalidSubmission, Reason
from openrebench.isolation.device import device_fingerprint
from openrebench.isolation.runner import Runner
from openrebench.isolation.worker import Worker

Ints = NDArray[np.int32]
LOOKED_AT = 4096  # secret positions read while the clock runs: unfinished work is seen or paid for
CORE_SHARE = 0.9  # of a call's time; with less the worker had to wait for a core
MOST_CALLS = 3  # times the calls that count
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
        if profile.device == "cuda":
            return score_on_gpu(submission, runner, profile, seed)
        n = profile.integer("n")
        with runner.worker(submission, profile.limits) as worker:
            worker.load("solution", "prefix_sum", output_capacity_bytes=n * np.int32().itemsize)
            for name, x in correctness_inputs(seed):
                _call(worker, x, seed, name)
            times_ms, disturbed = _timed(worker, profile, seed)
            busy = worker.background_busy_share()
        raw = float(f"{median(times_ms):.4g}")
        check_floor(raw, copy_ms(n))
        return Measurement(
            raw=raw,
            message=f"median {raw} ms over {len(times_ms)} calls with {n} elements, all exact",
            details={
                "times_ms": [round(t, 4) for t in times_ms],
                "disturbed": disturbed,
                "background_cpu": round(busy, 3),
            },
            flags=(f"background_cpu: busy {busy:.0%} of idle time",) if busy > BUSY_SHARE else (),
        )


class Timed(NamedTuple):
    """Times of the calls that count, and how many others had to wait for a core."""

    times_ms: list[float]
    disturbed: int


def _timed(worker: Worker, profile: Profile, seed: Seed) -> Timed:
    """Make warm and timed calls, which the worker can't tell apart; check every output.

    A call in which the worker hardly got a core says more about the machine than about the
    submission, so it is made up for by a further one; if that does not help, the fastest of
    those calls count. A submission that waits on purpose gains nothing but more calls.
    """
    warm, timed = profile.integer("warm_calls"), profile.integer("timed_calls")
    kept: list[float] = []
    disturbed: list[float] = []
    for k in range(warm + MOST_CALLS * timed):
        x = seed.rng(f"timed {k}").integers(-10, 10, profile.integer("n"), dtype=np.int32)
        used_s = worker.cpu_s()
        time_ms = _call(worker, x, seed, f"call {k + 1}")
        had_a_core = (worker.cpu_s() - used_s) * 1e3 > CORE_SHARE * time_ms
        if k >= warm:
            (kept if had_a_core else disturbed).append(time_ms)
        if len(kept) == timed:
            break
    return Timed([*kept, *sorted(disturbed)[: timed - len(kept)]], len(disturbed))


def _call(worker: Worker, x: Ints, seed: Seed, name: str) -> float:
    """Make one call and compare its output in full; give its wall time in ms."""
    positions = seed.rng(f"looked at {name}").integers(0, max(len(x), 1), min(LOOKED_AT, len(x)))
    call = worker.call(x, positions)
    expected = oracle(x)
    if not np.array_equal(call.output, expected):
        raise InvalidSubmission(Reason.WRONG_OUTPUT, difference(call.output, expected, name))
    if not np.array_equal(call.looked, expected[positions]):
        raise InvalidSubmission(
            Reason.WRONG_OUTPUT,
            f"solution.prefix_sum returned before its output was written ({name})",
        )
    return call.elapsed_s * 1e3


def copy_ms(n: int) -> float:
    """Measure how long copying `n` numbers takes on this machine: the best of three."""
    source, target = np.ones(n, np.int32), np.zeros(n, np.int32)
    copies_ms = []
    for _ in range(3):
        started = time.perf_counter()
        np.copyto(target, source)
        copies_ms.append((time.perf_counter() - started) * 1e3)
    return min(copies_ms)
