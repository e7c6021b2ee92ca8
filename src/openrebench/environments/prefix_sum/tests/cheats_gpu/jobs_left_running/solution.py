"""Leave a process with endless kernels behind that outlives the score (T13, P1)."""

import os
import subprocess
import sys

from start_solution import prefix_sum  # noqa: F401

BURN = """
import os, torch
a = torch.ones(4096, 4096, device='cuda')
while True:
    a @ a
"""
subprocess.Popen([sys.executable, "-c", BURN], start_new_session=True)
