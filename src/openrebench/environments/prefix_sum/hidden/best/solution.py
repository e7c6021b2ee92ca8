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

    def prefix_sum_cpu(x, out):
        scan(x.numpy(), out.numpy())
        return out

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
        self.library.tiles.argtypes = [ctypes.c_longlong]
        self.library.launch.argtypes = [
            ctypes.c_void_p, ctypes.c_void_p, ctypes.c_longlong, ctypes.c_void_p, ctypes.c_uint, ctypes.c_void_p,
        ]  # fmt: skip
        self.states, self.calls = None, 0

    def __call__(self, x, out=None):
        if x.data_ptr() % 16:  # vector loads need it
            x = x.clone()
        y = torch.empty_like(x) if out is None or out.data_ptr() % 16 else out
        words = 2 * self.library.tiles(x.numel())
        if self.states is None or self.states.numel() < words:
            self.states = torch.zeros(max(words, 2), dtype=torch.int64, device=x.device)
        self.calls += 1
        code = self.library.launch(
            x.data_ptr(), y.data_ptr(), x.numel(), self.states.data_ptr(), self.calls,
            torch.cuda.current_stream().cuda_stream,
        )  # fmt: skip
        if code:
            raise RuntimeError(f"CUDA error {code}")
        return y


prefix_sum = _CudaScan() if torch.cuda.is_available() else _compiled_for_cpu()
