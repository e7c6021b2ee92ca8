"""Data loaders for training and evaluation."""

import math
from typing import Any, Iterator

import torch
from torch.utils.data import DataLoader, Dataset, Sampler

from foundry import distributed
from foundry.config import Config
from foundry.data.collator import FinetuningCollator
from foundry.data.shards import ShardReader
from foundry.tokenizer import Tokenizer


class TokenDataset(Dataset):
    """Tokenised rows by number."""

    def __init__(self, folder: str, max_rows: int | None = None) -> None:
        self.reader = ShardReader(folder)
        self.rows = len(self.reader) if max_rows is None else min(max_rows, len(self.reader))

    def __len__(self) -> int:
        return self.rows

    def __getitem__(self, number: int) -> dict[str, Any]:
        return self.reader[number]


class EpochSampler(Sampler):
    """Orders rows anew each epoch, and deals each global batch out to the ranks.

    The order of epoch `e` is `torch.randperm` seeded with `seed + e`, or the file's order. All
    ranks see the same order; of each global batch of `batch` rows, rank r gets every rows
    r, r + world, r + 2 world, ...
    """

    def __init__(self, rows: int, batch: int, *, shuffle: bool, seed: int, drop_last: bool) -> None:
        self.rows, self.batch = rows, batch
        self.shuffle, self.seed, self.drop_last = shuffle, seed, drop_last
        self.epoch = 0

    def set_epoch(self, epoch: int) -> None:
        """Choose the epoch whose order comes next."""
        self.epoch = epoch

    def __len__(self) -> int:
        if self.drop_last:
            return self.rows // self.batch
        return math.ceil(self.rows / self.batch)

    def order(self) -> list[int]:
        """Give the order of all rows in this epoch."""
        if not self.shuffle:
            return list(range(self.rows))
        generator = torch.Generator().manual_seed(self.seed + self.epoch)
        return torch.randperm(self.rows, generator=generator).tolist()

    def __iter__(self) -> Iterator[list[int]]:
        order = self.order()
        rank, world = distributed.rank(), distributed.world_size()
        for number in range(len(self)):
            batch = order[number * self.batch : (number + 1) * self.batch]
            yield batch[rank::world]


def build_train_loader(config: Config, tokenizer: Tokenizer) -> DataLoader:
    """Make the training loader: one global batch at a time, this rank's part of it."""
    settings = config.train_loader
    dataset = TokenDataset(settings.dataset.local)
    sampler = EpochSampler(
        len(dataset),
        config.global_train_batch_size,
        shuffle=settings.dataset.shuffle,
        seed=config.seed,
        drop_last=settings.drop_last,
    )
    workers = settings.num_workers
    return DataLoader(
        dataset,
        batch_sampler=sampler,
        collate_fn=FinetuningCollator(config.max_seq_len, tokenizer.pad_token_id),
        num_workers=workers,
        prefetch_factor=settings.prefetch_factor if workers else None,
        persistent_workers=False,
    )


def build_eval_loader(config: Config, tokenizer: Tokenizer) -> DataLoader:
    """Make the evaluation loader."""
    settings = config.eval_loader
    dataset = TokenDataset(settings.dataset.local, settings.dataset.get("max_rows"))
    return DataLoader(
        dataset,
        batch_size=config.device_eval_batch_size,
        shuffle=False,
        collate_fn=FinetuningCollator(config.max_seq_len, tokenizer.pad_token_id),
        num_workers=settings.num_workers,
    )
