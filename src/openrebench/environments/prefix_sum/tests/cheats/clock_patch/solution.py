"""Slow every clock that Python has (T1)."""

import itertools
import time

from start_solution import prefix_sum  # noqa: F401

tick = itertools.count()
time.time = time.perf_counter = time.monotonic = lambda: next(tick) * 1e-6
time.time_ns = time.perf_counter_ns = time.monotonic_ns = lambda: next(tick) * 1000
