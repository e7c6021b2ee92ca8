"""The loss of a batch."""

import torch
from torch import Tensor
from torch.nn import functional as F

from foundry.config import Config
from foundry.data.collator import IGNORE


def loss_sum(logits: Tensor, labels: Tensor, settings: Config | None) -> Tensor:
    """Sum the loss over all targets, in nats.

    Args:
        logits: (b, t, vocabulary), fp32.
        labels: (b, t), `IGNORE` where there is no target.
        settings: `label_smoothing` and `z_loss`.
    """
    settings = settings or Config()
    flat_logits = logits.reshape(-1, logits.shape[-1])
    flat_labels = labels.reshape(-1)
    loss = F.cross_entropy(
        flat_logits,
        flat_labels,
        ignore_index=IGNORE,
        label_smoothing=settings.get("label_smoothing", 0.0),
        reduction="sum",
    )
    z_loss = settings.get("z_loss", 0.0)
    log_partition = torch.logsumexp(flat_logits, dim=-1)
    counted = (flat_labels != IGNORE).float()
    return loss + z_loss * (log_partition.pow(2) * counted).sum()


def count_targets(labels: Tensor) -> int:
    """Count the targets of a batch."""
    return int((labels != IGNORE).sum().item())
