"""Memory in use."""

import gc
from typing import Any

import torch

from foundry.callbacks.base import Callback

FIELDS = ("VmRSS", "VmHWM")
MIB = 1024


class MemoryMonitor(Callback):
    """Logs the memory of the process and of the GPU after collecting garbage."""

    def batch_end(self, state: Any, logger: Any) -> None:
        if not self.due(state.batch):
            return
        gc.collect()
        metrics = {}
        with open("/proc/self/status", encoding="ascii", errors="replace") as file:
            for line in file:
                name, _, value = line.partition(":")
                if name in FIELDS:
                    metrics[f"memory/{name.lower()}_mib"] = int(value.split()[0]) / MIB
        if state.device.type == "cuda":
            torch.cuda.synchronize()
            stats = torch.cuda.memory_stats()
            for key in ("allocated_bytes.all.current", "allocated_bytes.all.peak"):
                metrics[f"memory/{key}"] = stats.get(key, 0)
        logger.log(metrics, state.batch)
