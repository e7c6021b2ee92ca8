"""Time budgets as people write them."""

import re

from openrebench.errors import ReBenchError

SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86400}


def parse_duration(text: str) -> float:
    """Read a duration such as `90s`, `30m`, `8h` or `7d`; gives seconds.

    Raises:
        ReBenchError: It is not a positive number with one of these units.

    Example:
        >>> parse_duration("30m"), parse_duration("1.5h")
        (1800.0, 5400.0)
    """
    match = re.fullmatch(r"(\d+(?:\.\d+)?)([smhd])", text.strip())
    seconds = float(match[1]) * SECONDS[match[2]] if match else 0.0
    if seconds <= 0:
        raise ReBenchError(f"time limit '{text}' is not a duration; write 90s, 30m, 8h or 7d")
    return seconds


def format_duration(seconds: float) -> str:
    """Write a duration with its largest whole unit.

    Example:
        >>> format_duration(1800), format_duration(28800), format_duration(95)
        ('30m', '8h', '95s')
    """
    for unit in ("h", "m"):
        if seconds >= SECONDS[unit] and seconds % SECONDS[unit] == 0:
            return f"{seconds / SECONDS[unit]:g}{unit}"
    return f"{seconds:g}s"
