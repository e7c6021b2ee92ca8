"""A time budget, and the two limits that it sets inside a task.

They are set there and not on the command line: Inspect tells tasks apart by their limits too, and
would not resume work that was begun under others.
"""

from dataclasses import dataclass

from openrebench.core.duration import format_duration, parse_duration

FUSE_FACTOR, FUSE_EXTRA_S = 1.25, 600.0


@dataclass(frozen=True)
class Budget:
    """Working seconds that a solver has."""

    seconds: float

    @classmethod
    def parse(cls, text: str | int | float) -> "Budget":
        """Read `30m`, `8h` or `90s`; a bare number is seconds.

        Raises:
            ReBenchError: It is not a duration.
        """
        bare = isinstance(text, int | float) or text.strip().isdecimal()
        return cls(parse_duration(f"{text}s" if bare else str(text)))

    @property
    def working_limit(self) -> int:
        """Limit of working time, at least a second: Inspect looks once a second."""
        return max(1, round(self.seconds))

    @property
    def time_limit(self) -> int:
        """Limit of wall time: a fuse for what working time does not count, such as retries."""
        return round(FUSE_FACTOR * self.seconds + FUSE_EXTRA_S)

    def __str__(self) -> str:
        return format_duration(self.seconds)
