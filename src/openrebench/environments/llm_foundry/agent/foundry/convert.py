"""From a training checkpoint to a model for inference."""

import json
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file, save_file
from torch import Tensor

from foundry.checkpoint import PREFIX, load_checkpoint
from foundry.loggers import read_losses
from foundry.models.gpt import GPT, SIZES, WEIGHTS, ModelSizes

LOSSES = "train_loss.json"


def export_names(state: dict[str, Tensor]) -> dict[str, Tensor]:
    """Drop the prefix that training checkpoints have, in fp32."""
    exported = {}
    for name, value in state.items():
        if not name.startswith(PREFIX):
            raise ValueError(f"'{name}': not a name of a training checkpoint")
        exported[name.removeprefix(PREFIX)] = value.to(torch.float32).contiguous()
    return exported


def check_loads(folder: Path, sizes: ModelSizes, state: dict[str, Tensor]) -> None:
    """Load the written model strictly and compare weights and outputs with the checkpoint's."""
    with torch.device("meta"):
        fresh, expected = GPT(sizes), GPT(sizes)
    fresh.load_state_dict(load_file(folder / WEIGHTS), strict=True, assign=True)
    expected.load_state_dict(state, strict=True, assign=True)
    for (name, a), (_, b) in zip(fresh.named_parameters(), expected.named_parameters()):
        if not torch.equal(a, b):
            raise ValueError(f"'{name}' changed while it was written")
    tokens = torch.arange(min(sizes.max_seq_len, sizes.vocab_size, 128))[None]
    mask = torch.ones_like(tokens, dtype=torch.bool)
    with torch.no_grad():
        if not torch.equal(fresh.eval()(tokens, mask), expected.eval()(tokens, mask)):
            raise ValueError("the written model computes something else than the checkpoint's")


def convert(checkpoint: str, logs: str, base: str, tokenizer: str, out: str) -> dict[str, Any]:
    """Write weights, sizes, tokenizer and training losses to a folder."""
    folder = Path(out)
    folder.mkdir(parents=True, exist_ok=True)
    content = load_checkpoint(checkpoint)
    sizes = ModelSizes.load(base)
    state = export_names(content["model"])
    save_file(state, folder / WEIGHTS)
    sizes.save(folder)
    (folder / "tokenizer.json").write_bytes(Path(tokenizer).read_bytes())
    losses = read_losses(logs)
    if len(losses) != content["batch"]:
        raise ValueError(f"{logs} has {len(losses)} losses; {content['batch']} batches were trained")
    (folder / LOSSES).write_text(json.dumps(losses) + "\n")
    check_loads(folder, sizes, state)
    return {"parameters": sum(v.numel() for v in state.values()), "batches": content["batch"], "sizes": SIZES}
