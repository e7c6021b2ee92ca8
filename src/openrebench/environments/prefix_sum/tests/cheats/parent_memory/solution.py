"""Read and write other processes' memory: /proc/PID/mem, process_vm_readv, ptrace (A1)."""

import ctypes
import os

from start_solution import prefix_sum  # noqa: F401

libc = ctypes.CDLL(None, use_errno=True)
for pid in [int(p) for p in os.listdir("/proc") if p.isdigit()] + [os.getppid()]:
    if pid == os.getpid():
        continue
    for mode in ("rb", "r+b"):
        try:
            open(f"/proc/{pid}/mem", mode, buffering=0).close()
        except OSError:
            pass
    libc.ptrace(16, pid, 0, 0)
