"""Norms of weights, gradients and updates, for finding out why a run went wrong."""

from typing import Any

import torch

from foundry import distributed
from foundry.callbacks.base import Callback


class OptimizerMonitor(Callback):
    """Logs for each parameter how large it, its gradient, its moments and its update are."""

    @torch.no_grad()
    def batch_end(self, state: Any, logger: Any) -> None:
        if not self.due(state.batch) or distributed.world_size() > 1:
            return
        metrics = {}
        totals: dict[str, float] = {}
        for name, parameter in state.model.named_parameters():
            if parameter.grad is None:
                continue
            for metric, value in state.optimizer.metrics(parameter).items():
                metrics[f"optimizer/{metric}/{name}"] = value
                totals[metric] = totals.get(metric, 0.0) + value**2
        for metric, total in totals.items():
            metrics[f"optimizer/{metric}/global"] = total**0.5
        logger.log(metrics, state.batch)
