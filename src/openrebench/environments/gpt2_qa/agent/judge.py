"""Ask the judge which of two answers is better. What it may be asked is not decided here.

    python -m judge left
"""

import json
import socket
import sys
from pathlib import Path

SOCKET = Path(__file__).resolve().with_name("judge.sock")
MOST = 64  # comparisons of a request


class Refused(Exception):
    """The judge's reason why it did not compare."""


def compare(comparisons: list[tuple[int, list[int], list[int]]]) -> list[float]:
    """Compare answers; every comparison counts towards the limit.

    Args:
        comparisons: For each the number of the question in prompts.jsonl, and the tokens of two
            answers.

    Returns:
        For each 1 (the first is better), 0 (the second is) or 0.5 (a tie).
    """
    preferred: list[float] = []
    for first in range(0, len(comparisons), MOST):
        rows = [
            {"question": number, "first": one, "second": other}
            for number, one, other in comparisons[first : first + MOST]
        ]
        preferred += ask({"comparisons": rows})["preferred"]
    return preferred


def left() -> dict[str, int]:
    """Tell how many comparisons were used and are left."""
    return ask({})


def ask(request: dict) -> dict:
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(str(SOCKET))
        connection.sendall(json.dumps(request).encode() + b"\n")
        reply = json.loads(connection.makefile("rb").readline())
    if "error" in reply:
        raise Refused(reply["error"])
    return reply


if __name__ == "__main__":
    if sys.argv[1:] != ["left"]:
        sys.exit(__doc__)
    print(json.dumps(left()))
