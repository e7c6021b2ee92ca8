"""A time budget with its fuses, and the limits that they set inside a task.

They are set there and not on the command line: Inspect tells tasks apart by their limits too, and
would not resume work that was begun under others.
"""

import math
import re
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from openrebench.core.duration import format_duration, parse_duration
from openrebench.errors import ReBenchError

FUSE_FACTOR, FUSE_EXTRA_S = 1.25, 600.0
START_S = 4 * 3600  # Inspect's limit includes the start's score, before which ours do not begin
MAX_DISK_BYTES = 50_000_000_000
SIZES = {"MB": 10**6, "GB": 10**9, "TB": 10**12}


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
        return max(1, math.ceil(self.seconds))

    @property
    def wall_limit(self) -> int:
        """Limit of wall time: a fuse for what working time does not count, such as retries."""
        return round(FUSE_FACTOR * self.seconds + FUSE_EXTRA_S)

    def __str__(self) -> str:
        return format_duration(self.seconds)


def parse_size(text: str) -> int:
    """Read a size such as `500MB` or `20GB`; gives bytes.

    Raises:
        ReBenchError: It is not a positive number with one of these units.

    Example:
        >>> parse_size("1.5GB")
        1500000000
    """
    match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*(MB|GB|TB)", text.strip(), re.IGNORECASE)
    size = round(float(match[1]) * SIZES[match[2].upper()]) if match else 0
    if size <= 0:
        raise ReBenchError(f"size '{text}' can't be read; write 500MB, 20GB or 1TB")
    return size


class Fuses(BaseModel):
    """What ends an attempt besides its working time, so that nothing runs away.

    Attributes:
        max_wall_s: Wall time from the solver's first step; by default a quarter more than the
            budget and ten minutes.
        max_tokens: Tokens read and written together, of all models.
        max_cost_usd: Money for models; needs their prices.
        max_disk_bytes: Size of the workspace.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    max_wall_s: float | None = Field(default=None, gt=0)
    max_tokens: int | None = Field(default=None, gt=0)
    max_cost_usd: float | None = Field(default=None, gt=0)
    max_disk_bytes: int = Field(default=MAX_DISK_BYTES, gt=0)

    def wall_s(self, budget: Budget) -> float:
        """Wall time that an attempt may take."""
        return budget.wall_limit if self.max_wall_s is None else self.max_wall_s


@dataclass(frozen=True, kw_only=True)
class Used:
    """What an attempt had used before it was resumed; nothing for a new one."""

    working_s: float = 0.0
    wall_s: float = 0.0
    tokens: int = 0
    cost_usd: float = 0.0


def task_limits(budget: Budget, fuses: Fuses, used: Used) -> dict[str, Any]:
    """Give what is left as limits by Inspect's names, each at least one."""
    limits: dict[str, Any] = {
        "working_limit": Budget(budget.seconds - used.working_s).working_limit,
        "time_limit": START_S + max(1, math.ceil(fuses.wall_s(budget) - used.wall_s)),
    }
    if fuses.max_tokens is not None:
        limits["token_limit"] = max(1, fuses.max_tokens - used.tokens)
    if fuses.max_cost_usd is not None:
        limits["cost_limit"] = max(1e-6, fuses.max_cost_usd - used.cost_usd)
    return limits


def spent(budget: Budget, fuses: Fuses, used: Used) -> bool:
    """Tell whether nothing is left of the time or of a fuse."""
    pairs = (
        (used.working_s, budget.seconds),
        (used.wall_s, fuses.wall_s(budget)),
        (used.tokens, fuses.max_tokens),
        (used.cost_usd, fuses.max_cost_usd),
    )
    return any(limit is not None and amount >= limit for amount, limit in pairs)
