"""The training loop."""

import contextlib
import math
from dataclasses import dataclass, field
from typing import Iterator

import torch
from torch import Tensor, nn
from torch.utils.data import DataLoader

from foundry import distributed
from foundry.callbacks.base import Callback
from foundry.checkpoint import CheckpointSaver
from foundry.config import Config, parse_time
from foundry.evaluation import Evaluator
from foundry.loggers import LoggerGroup
from foundry.models.loss import count_targets, loss_sum
from foundry.optim import AdamW, Schedule, clip_gradients

Batch = dict[str, Tensor]


@dataclass
class State:
    """Everything that changes while training."""

    model: nn.Module
    optimizer: AdamW
    schedule: Schedule
    device: torch.device
    batch: int = 0
    epoch: int = 0
    tokens: int = 0
    rows: int = 0
    losses: list[float] = field(default_factory=list)


def to_device(batch: Batch, device: torch.device) -> Batch:
    """Move a batch."""
    return {name: value.to(device) for name, value in batch.items()}


def microbatches(batch: Batch, size: int) -> Iterator[Batch]:
    """Cut a batch into parts of `size` rows."""
    rows = len(batch["input_ids"])
    for first in range(0, rows, size):
        yield {name: value[first : first + size] for name, value in batch.items()}


class Trainer:
    """Trains a model on a loader for the configured duration."""

    def __init__(
        self,
        config: Config,
        model: nn.Module,
        optimizer: AdamW,
        loader: DataLoader,
        evaluator: Evaluator,
        saver: CheckpointSaver,
        callbacks: list[Callback],
        logger: LoggerGroup,
        device: torch.device,
    ) -> None:
        self.config = config
        self.loader = loader
        self.evaluator = evaluator
        self.saver = saver
        self.callbacks = callbacks
        self.logger = logger
        per_epoch = len(loader)
        self.batches = parse_time(config.max_duration).batches(per_epoch)
        self.eval_every = parse_time(config.eval_interval).batches(per_epoch)
        self.save_every = parse_time(config.save_interval).batches(per_epoch)
        schedule = Schedule(config, self.batches, per_epoch)
        self.state = State(model, optimizer, schedule, device)

    def fit(self) -> State:
        """Train; evaluate and save on the way and at the end."""
        state = self.state
        self._event("fit_start")
        while state.batch < self.batches:
            self.loader.batch_sampler.set_epoch(state.epoch)
            for batch in self.loader:
                self._event("batch_start")
                self._train_batch(batch)
                self._event("batch_end")
                self.logger.flush(state.batch)
                if self.eval_every and state.batch % self.eval_every == 0:
                    self._evaluate()
                if self.save_every and state.batch % self.save_every == 0:
                    self.saver.save(state)
                if state.batch == self.batches:
                    break
            state.epoch += 1
            self._event("epoch_end")
        self._evaluate()
        self.saver.save(state)
        self._event("fit_end")
        self.logger.close()
        return state

    def _train_batch(self, batch: Batch) -> None:
        """Take one optimiser step on a global batch, of which this process has its part."""
        state, config = self.state, self.config
        state.model.train()
        rate = state.schedule.apply(state.optimizer, config.optimizer.lr, state.batch)
        state.optimizer.zero_grad(set_to_none=False)
        loss = self._backward(batch)
        norm = clip_gradients(state.model, config.lookup("gradient_clipping.clipping_threshold", 0.0))
        if not math.isfinite(loss) or not math.isfinite(norm):
            raise FloatingPointError(f"batch {state.batch + 1}: loss {loss}, gradient norm {norm}")
        state.optimizer.step()
        state.batch += 1
        state.rows += len(batch["input_ids"])
        state.tokens += int(batch["attention_mask"].sum().item())
        state.losses.append(loss)
        self.logger.log({"loss/train/total": loss, "lr": rate, "grad_norm": norm}, state.batch)

    def _backward(self, batch: Batch) -> float:
        """Add up gradients of the batch's mean loss over all targets; give that loss."""
        state, config = self.state, self.config
        targets = torch.tensor(float(count_targets(batch["labels"])), device=state.device)
        targets = distributed.all_sum(targets)
        total = torch.zeros((), dtype=torch.float64, device=state.device)
        size = config.get("device_train_microbatch_size", len(batch["input_ids"]))
        for part in microbatches(batch, size):
            part = to_device(part, state.device)
            with self._precision():
                logits = state.model(part["input_ids"], part["attention_mask"])
            loss = loss_sum(logits, part["labels"], config.get("loss")) / targets
            # Gradients are averaged over the processes; the loss is a sum over them.
            (loss * distributed.world_size()).backward()
            total += loss.detach().double()
        return float(distributed.all_sum(total).item())

    def _precision(self) -> contextlib.AbstractContextManager:
        if self.config.get("precision", "fp32") == "amp_bf16":
            return torch.autocast(self.state.device.type, torch.bfloat16)
        return contextlib.nullcontext()

    def _evaluate(self) -> None:
        with self._precision():
            metrics = self.evaluator.evaluate(self.state.model, self.state.device)
        self.logger.log(metrics, self.state.batch)
        self.logger.flush(self.state.batch)
        self._event("eval_end")

    def _event(self, name: str) -> None:
        for callback in self.callbacks:
            getattr(callback, name)(self.state, self.logger)
