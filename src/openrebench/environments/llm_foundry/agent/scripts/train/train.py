"""Stage 2: train.

    python scripts/train/train.py finetune.yaml [key=value ...]
"""

import random
import sys
import time

import numpy as np
import torch

from foundry import distributed
from foundry.callbacks import build_callbacks
from foundry.checkpoint import CheckpointSaver
from foundry.config import Config, load_config
from foundry.data.loader import build_eval_loader, build_train_loader
from foundry.evaluation import Evaluator
from foundry.loggers import LoggerGroup
from foundry.models.gpt import build_model
from foundry.optim import build_optimizer
from foundry.tokenizer import Tokenizer
from foundry.trainer import Trainer


def seed_everything(seed: int) -> None:
    """Seed all generators."""
    random.seed(seed)
    np.random.seed(seed % 2**32)
    torch.manual_seed(seed)


def describe(model: torch.nn.Module, config: Config) -> None:
    """Print what is about to be trained."""
    total = sum(p.numel() for p in model.parameters())
    trained = sum(p.numel() for p in model.parameters() if p.requires_grad)
    print(f"run {config.get('run_name', 'finetune')}: {total:,} parameters, {trained:,} trained")
    print(f"{distributed.world_size()} processes, precision {config.get('precision', 'fp32')}")


def main() -> None:
    config = load_config(sys.argv[1], sys.argv[2:])
    started = time.time()
    device = distributed.initialise()
    seed_everything(config.seed)
    tokenizer = Tokenizer(config.tokenizer.path)
    model = build_model(config).to(device)
    if distributed.is_main():
        describe(model, config)
    model = distributed.wrap(model, config)
    optimizer = build_optimizer(model, config)
    trainer = Trainer(
        config,
        model,
        optimizer,
        build_train_loader(config, tokenizer),
        Evaluator(build_eval_loader(config, tokenizer)),
        CheckpointSaver(config),
        build_callbacks(config, tokenizer),
        LoggerGroup(config),
        device,
    )
    state = trainer.fit()
    if distributed.is_main():
        print(f"trained {state.batch} batches in {time.time() - started:.1f} s")
    distributed.shut_down()


if __name__ == "__main__":
    main()
