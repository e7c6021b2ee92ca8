"""Random base models of any size, for profiles whose base is made on this machine."""

import json
import math
from pathlib import Path
from typing import TYPE_CHECKING

from openrebench.core.card import Profile

if TYPE_CHECKING:
    from torch import Tensor

STD = 0.02
EXPANSION = 4
SEED = 20_261_130


def sizes_of(profile: Profile) -> dict[str, int]:
    """Give the `config.json` of a profile's model."""
    return {
        "vocab_size": profile.integer("vocabulary"),
        "max_seq_len": profile.integer("context"),
        "n_layers": profile.integer("layers"),
        "n_heads": profile.integer("heads"),
        "d_model": profile.integer("width"),
        "expansion_ratio": EXPANSION,
    }


def shapes(sizes: dict[str, int]) -> dict[str, tuple[int, ...]]:
    """List the model's weights by name; vectors are gains of norms."""
    width, hidden = sizes["d_model"], sizes["expansion_ratio"] * sizes["d_model"]
    block = {
        "norm_1": (width,),
        "attn.Wqkv": (3 * width, width),
        "attn.out_proj": (width, width),
        "norm_2": (width,),
        "ffn.up_proj": (hidden, width),
        "ffn.down_proj": (width, hidden),
    }
    found: dict[str, tuple[int, ...]] = {
        "wte": (sizes["vocab_size"], width),
        "wpe": (sizes["max_seq_len"], width),
    }
    for number in range(sizes["n_layers"]):
        found.update({f"blocks.{number}.{name}": shape for name, shape in block.items()})
    found["norm_f"] = (width,)
    return {f"transformer.{name}.weight": shape for name, shape in found.items()}


def weights(sizes: dict[str, int], device: str) -> "dict[str, Tensor]":
    """Draw a model's weights in fp32, as GPT-2 starts: what writes to the residual is smaller."""
    import torch

    stream = torch.Generator(device).manual_seed(SEED)
    residual = STD / math.sqrt(2 * sizes["n_layers"])
    found = {}
    for name, shape in shapes(sizes).items():
        value = torch.ones(shape)
        if len(shape) > 1:
            std = residual if name.endswith(("out_proj.weight", "down_proj.weight")) else STD
            value = std * torch.randn(shape, generator=stream, device=device)
        found[name] = value.cpu()
    return found


def write_base(folder: Path, profile: Profile) -> None:
    """Write the weights and sizes of a profile's random base model."""
    import torch
    from safetensors.torch import save_file

    sizes = sizes_of(profile)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    save_file(weights(sizes, device), folder / "model.safetensors")
    (folder / "model.safetensors").chmod(0o644)
    (folder / "config.json").write_text(json.dumps(sizes, indent=1) + "\n", encoding="utf-8")
