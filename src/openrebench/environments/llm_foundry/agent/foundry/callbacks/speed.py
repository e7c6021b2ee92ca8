"""How fast training goes, and with which learning rate."""

import time
from collections import deque
from typing import Any

import torch

from foundry.callbacks.base import Callback


class SpeedMonitor(Callback):
    """Logs batches, rows and tokens per second over a window of batches."""

    def fit_start(self, state: Any, logger: Any) -> None:
        self.window = deque(maxlen=self.settings.get("window_size", 10) + 1)
        self.started = time.time()
        self.parameters = sum(p.numel() for p in state.model.parameters())

    def batch_end(self, state: Any, logger: Any) -> None:
        if state.device.type == "cuda":
            torch.cuda.synchronize()
        now = time.time()
        self.window.append((now, state.batch, state.rows, state.tokens))
        if len(self.window) < 2:
            return
        first = self.window[0]
        seconds = now - first[0]
        tokens = state.tokens - first[3]
        logger.log(
            {
                "throughput/batches_per_sec": (state.batch - first[1]) / seconds,
                "throughput/samples_per_sec": (state.rows - first[2]) / seconds,
                "throughput/tokens_per_sec": tokens / seconds,
                "throughput/flops_per_sec": 6 * self.parameters * tokens / seconds,
                "time/total": now - self.started,
            },
            state.batch,
        )


class LRMonitor(Callback):
    """Logs the learning rate of every parameter group."""

    def batch_end(self, state: Any, logger: Any) -> None:
        for number, group in enumerate(state.optimizer.param_groups):
            logger.log({f"lr/group{number}": group["lr"]}, state.batch)
