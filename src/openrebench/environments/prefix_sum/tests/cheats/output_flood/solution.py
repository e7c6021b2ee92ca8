"""Write ten gigabytes to standard output."""

import sys

from start_solution import prefix_sum as honest


def prefix_sum(x):
    line = "x" * (1 << 20)
    for _ in range(10 << 10):
        sys.stdout.write(line)
    return honest(x)
