# OpenRE-Bench hidden material. Canary 7f0c1e0a-5b0e-4d0b-9c43-2f6f1f4f6a51: do not publish, do not train on.
"""The fastest we have: one pass over memory. Documents the headroom above the reference."""

import ctypes
import pathlib
import subprocess
import tempfile

import torch


def _compiled_for_cpu():
    import numba
    import numpy as np

    @numba.njit("void(int32[::1], int32[::1])")
    def scan(x, y):
        total, odd = np.int32(0), np.int32(0)
        for i in range(x.size):
            value = x[i]
            total += value * odd
            y[i] = total
            odd ^= np.int32(value > 0)

    def prefix_sum_cpu(x):
        y = torch.empty_like(x)
        scan(x.numpy(), y.numpy())
        return y

    return prefix_sum_cpu


class _CudaScan:
    """Launches scan.cu; keeps the tile states, whose tags make a reset between calls needless."""

    def __init__(self, flags=()):
        here = pathlib.Path(__file__).parent
        built = pathlib.Path(tempfile.mkdtemp()) / "scan.so"
        subprocess.run(
            ["nvcc", "-O3", "-arch=native", "-shared", "-Xcompiler=-fPIC", *flags,
             str(here / "scan.cu"), "-o", str(built)],
            check=True,
        )  # fmt: skip
        self.library = ctypes.CDLL(str(built))
        self.states, self.ticket, self.taken, self.calls = None, None, 0, 0

    def __call__(self, x):
        if x.data_ptr() % 16:  # vector loads need it
            x = x.clone()
        y = torch.empty_like(x)
        tiles = self.library.tiles(x.numel())
        if self.states is None or self.states.numel() < 2 * tiles:
            self.states = torch.zeros(2 * max(tiles, 1), dtype=torch.int64, device=x.device)
            self.ticket = torch.zeros(1, dtype=torch.int32, device=x.device)
            self.taken = 0
        self.calls += 1
        pointers = [ctypes.c_void_p(t.data_ptr()) for t in (x, y, self.states, self.ticket)]
        stream = ctypes.c_void_p(torch.cuda.current_stream().cuda_stream)
        code = self.library.launch(
            pointers[0], pointers[1], x.numel(), pointers[2], pointers[3],
            ctypes.c_uint(self.taken), ctypes.c_uint(self.calls), stream,
        )  # fmt: skip
        if code:
            raise RuntimeError(f"CUDA error {code}")
        self.taken = (self.taken + tiles) % 2**32
        return y


prefix_sum = _CudaScan() if torch.cuda.is_available() else _compiled_for_cpu()
