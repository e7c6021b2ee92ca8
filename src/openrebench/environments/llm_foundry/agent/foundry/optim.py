"""AdamW, gradient clipping and learning-rate schedules."""

import math
from typing import Iterable

import torch
from torch import Tensor, nn
from torch.optim import Optimizer

from foundry import distributed
from foundry.config import Config, parse_time


class AdamW(Optimizer):
    """Adam with decoupled weight decay: the decay of a step is `lr * weight_decay * weight`."""

    metric_names = ("param_norm", "grad_norm", "moment_norm", "update_norm", "grad_update_cosine")

    def __init__(
        self,
        params: Iterable,
        lr: float,
        betas: tuple[float, float] = (0.9, 0.95),
        eps: float = 1e-8,
        weight_decay: float = 0.0,
    ) -> None:
        defaults = {"lr": lr, "betas": tuple(betas), "eps": eps, "weight_decay": weight_decay}
        super().__init__(params, defaults)

    @torch.no_grad()
    def step(self, closure: None = None) -> None:
        for group in self.param_groups:
            beta1, beta2 = group["betas"]
            for parameter in group["params"]:
                if parameter.grad is None:
                    continue
                state = self.state[parameter]
                if not state:
                    state["step"] = 0
                    state["exp_avg"] = torch.zeros_like(parameter)
                    state["exp_avg_sq"] = torch.zeros_like(parameter)
                state["step"] += 1
                gradient = parameter.grad
                state["exp_avg"] = beta1 * state["exp_avg"] + (1 - beta1) * gradient
                state["exp_avg_sq"] = beta2 * state["exp_avg_sq"] + (1 - beta2) * gradient**2
                corrected = state["exp_avg"] / (1 - beta1 ** state["step"])
                scale = torch.sqrt(state["exp_avg_sq"] / (1 - beta2 ** state["step"]))
                update = corrected / (scale + group["eps"])
                update = update + group["weight_decay"] * parameter
                state["update"] = group["lr"] * update
                parameter.sub_(state["update"])

    def metrics(self, parameter: Tensor) -> dict[str, float]:
        """Describe a parameter's last step."""
        state = self.state[parameter]
        gradient, update = parameter.grad, state["update"]
        cosine = nn.functional.cosine_similarity(gradient.flatten(), update.flatten(), dim=0)
        values = (
            parameter.detach().norm(),
            gradient.norm(),
            state["exp_avg"].norm(),
            update.norm(),
            cosine,
        )
        return {name: float(v.item()) for name, v in zip(self.metric_names, values)}


def build_optimizer(model: nn.Module, config: Config) -> AdamW:
    """Make the optimiser: matrices decay, vectors don't."""
    settings = config.optimizer
    trained = [p for p in model.parameters() if p.requires_grad]
    groups = [
        {"params": [p for p in trained if p.dim() >= 2], "weight_decay": settings.weight_decay},
        {"params": [p for p in trained if p.dim() < 2], "weight_decay": 0.0},
    ]
    return AdamW(groups, lr=settings.lr, betas=settings.betas, eps=settings.eps)


@torch.no_grad()
def clip_gradients(model: nn.Module, threshold: float) -> float:
    """Scale gradients so that their total norm is at most the threshold; give the norm before.

    Sums of squares are kept in fp64, which does not overflow.
    """
    gradients = [p.grad for p in model.parameters() if p.grad is not None]
    total = torch.zeros((), dtype=torch.float64)
    for gradient in gradients:
        total += distributed.whole(gradient).double().pow(2).sum().cpu()
    norm = math.sqrt(total.item())
    if threshold > 0 and norm > threshold:
        for gradient in gradients:
            gradient.mul_(threshold / (norm + 1e-6))
    return norm


class Schedule:
    """The learning rate's share of its peak, by batch."""

    def __init__(self, config: Config, batches: int, per_epoch: int) -> None:
        settings = config.scheduler
        if settings.name not in ("constant_with_warmup", "linear_decay_with_warmup"):
            raise ValueError(f"scheduler.name '{settings.name}' is not known")
        self.decays = settings.name == "linear_decay_with_warmup"
        self.warmup = parse_time(settings.t_warmup).batches(per_epoch)
        self.alpha_f = settings.get("alpha_f", 0.0)
        self.batches = batches

    def share(self, batch: int) -> float:
        """Give the share for batch number `batch`, counted from 0."""
        if batch < self.warmup:
            return (batch + 1) / self.warmup
        if not self.decays:
            return 1.0
        done = (batch - self.warmup) / max(1, self.batches - self.warmup)
        return 1.0 - (1.0 - self.alpha_f) * done

    def apply(self, optimizer: Optimizer, peak: float, batch: int) -> float:
        """Set the optimiser's learning rate for a batch, and give it."""
        rate = peak * self.share(batch)
        for group in optimizer.param_groups:
            group["lr"] = rate
        return rate
