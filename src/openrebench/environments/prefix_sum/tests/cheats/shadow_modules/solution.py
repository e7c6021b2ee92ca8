"""Ship modules under the names that the scorer imports (S2)."""

from start_solution import prefix_sum  # noqa: F401
