"""Put rows together to a batch of equal lengths."""

from typing import Any

import torch

IGNORE = -100


class FinetuningCollator:
    """Pads rows to `max_seq_len` and makes masks and labels.

    Labels are shifted here: the label at a position is the token after it, or `IGNORE` where that
    is no target.
    """

    def __init__(self, max_seq_len: int, pad_token_id: int) -> None:
        self.max_seq_len = max_seq_len
        self.pad_token_id = pad_token_id

    def __call__(self, rows: list[dict[str, Any]]) -> dict[str, torch.Tensor]:
        input_ids, attention_mask, labels = [], [], []
        for row in rows:
            ids = list(row["input_ids"])
            targets = []
            for i in range(len(ids)):
                if i + 1 < len(ids) and row["loss_mask"][i + 1]:
                    targets.append(ids[i + 1])
                else:
                    targets.append(IGNORE)
            mask = [1] * len(ids)
            while len(ids) < self.max_seq_len:
                ids.append(self.pad_token_id)
                mask.append(0)
                targets.append(IGNORE)
            input_ids.append(torch.tensor(ids, dtype=torch.int64))
            attention_mask.append(torch.tensor(mask, dtype=torch.bool))
            labels.append(torch.tensor(targets, dtype=torch.int64))
        return {
            "input_ids": torch.stack(input_ids),
            "attention_mask": torch.stack(attention_mask),
            "labels": torch.stack(labels),
        }
