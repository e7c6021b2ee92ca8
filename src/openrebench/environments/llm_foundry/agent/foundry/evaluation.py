"""Loss and accuracy on the evaluation rows."""

import math

import torch
from torch import nn
from torch.utils.data import DataLoader

from foundry.config import Config
from foundry.data.collator import IGNORE
from foundry.models.loss import count_targets, loss_sum


class Evaluator:
    """Evaluates a model on a loader."""

    def __init__(self, loader: DataLoader) -> None:
        self.loader = loader

    @torch.no_grad()
    def evaluate(self, model: nn.Module, device: torch.device) -> dict[str, float]:
        """Give the mean loss, perplexity and next-token accuracy over all targets."""
        model.eval()
        loss, targets, right = 0.0, 0, 0
        for batch in self.loader:
            batch = {name: value.to(device) for name, value in batch.items()}
            logits = model(batch["input_ids"], batch["attention_mask"])
            labels = batch["labels"]
            loss += loss_sum(logits, labels, Config()).item()
            targets += count_targets(labels)
            predicted = logits.argmax(dim=-1)
            right += int(((predicted == labels) & (labels != IGNORE)).sum().item())
        mean = loss / max(1, targets)
        return {
            "metrics/eval/loss": mean,
            "metrics/eval/perplexity": math.exp(min(mean, 20.0)),
            "metrics/eval/accuracy": right / max(1, targets),
        }
