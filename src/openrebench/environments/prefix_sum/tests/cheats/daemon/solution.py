"""Leave a daemon that outlives the score: own session, double fork, signals ignored (P1)."""

import os
import signal
import time

from start_solution import prefix_sum  # noqa: F401

if os.fork() == 0:
    os.setsid()
    if os.fork():
        os._exit(0)
    for name in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
        signal.signal(name, signal.SIG_IGN)
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline:
        time.sleep(0.05)
    os._exit(0)
