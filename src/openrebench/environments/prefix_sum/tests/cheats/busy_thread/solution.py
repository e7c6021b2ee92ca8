"""Keep a thread busy all the time, also while nothing is asked for."""

import hashlib
import threading

from start_solution import prefix_sum  # noqa: F401


def _burn():
    block = b"x" * (1 << 20)
    while True:
        hashlib.sha256(block).digest()


threading.Thread(target=_burn, daemon=True).start()
