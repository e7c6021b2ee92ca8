"""What both devices share: inputs for the correctness check, and the messages about outputs."""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from openrebench.core.seed import Seed
from openrebench.errors import InvalidSubmission, Reason

Ints = NDArray[np.int32]
INT32 = np.iinfo(np.int32)


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


def difference(got: Ints, expected: Ints, name: str) -> str:
    """Say how many positions differ, and where first; nothing beyond the first."""
    wrong = np.flatnonzero(got != expected)
    first = int(wrong[0])
    return (
        f"solution.prefix_sum is wrong at {len(wrong)} of {len(expected)} positions ({name}); "
        f"first at {first}: got {got[first]}, expected {expected[first]}"
    )


def check_floor(raw_ms: float, copy_ms: float, error_ms: float = 0.0) -> None:
    """Refuse a time in which, within the clock's error, not even a copy could have been made."""
    if raw_ms + error_ms < copy_ms:
        raise InvalidSubmission(
            Reason.IMPOSSIBLE,
            f"{raw_ms} ms is less than copying the input takes here ({copy_ms:.3g} ms)",
        )
