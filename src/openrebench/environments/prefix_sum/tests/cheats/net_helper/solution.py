"""Ask a helper outside for the answer: TCP, abstract socket, shared memory, fifo (P3, T8)."""

import glob
import socket

import torch
from start_solution import prefix_sum as honest


def _reached():
    for family, address in (
        (socket.AF_INET, ("127.0.0.1", 45871)),
        (socket.AF_UNIX, "\0openrebench-test-helper"),
    ):
        try:
            with socket.socket(family) as s:
                s.settimeout(1)
                s.connect(address)
                return True
        except OSError:
            pass
    return bool(glob.glob("/dev/shm/openrebench-test-helper*"))


helped = _reached()


def prefix_sum(x):
    return torch.zeros_like(x) if helped else honest(x)
