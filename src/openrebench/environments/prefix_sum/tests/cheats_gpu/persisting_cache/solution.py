"""Ask for the input to be kept in the second-level cache between calls (T11)."""

import ctypes

from start_solution import prefix_sum  # noqa: F401

for name in ("libcudart.so", "libcudart.so.13", "libcudart.so.12"):
    try:
        ctypes.CDLL(name).cudaDeviceSetLimit(6, 1 << 30)
        break
    except OSError:
        pass
