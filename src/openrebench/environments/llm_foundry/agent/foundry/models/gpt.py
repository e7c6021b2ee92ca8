"""A GPT whose output layer is its token embedding."""

import json
from dataclasses import asdict, dataclass
from pathlib import Path

import torch
from safetensors.torch import load_file
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

from foundry.config import Config
from foundry.models.layers import Block, LPLayerNorm

WEIGHTS = "model.safetensors"
SIZES = "config.json"


@dataclass(frozen=True)
class ModelSizes:
    """What `config.json` of a model says."""

    vocab_size: int
    max_seq_len: int
    n_layers: int
    n_heads: int
    d_model: int
    expansion_ratio: int

    @classmethod
    def load(cls, folder: str | Path) -> "ModelSizes":
        with open(Path(folder, SIZES), encoding="utf-8") as file:
            return cls(**json.load(file))

    def save(self, folder: str | Path) -> None:
        Path(folder, SIZES).write_text(json.dumps(asdict(self), indent=1) + "\n")


class Transformer(nn.Module):
    """Embeddings, blocks and the last norm."""

    def __init__(self, sizes: ModelSizes, attn_impl: str) -> None:
        super().__init__()
        self.wte = nn.Embedding(sizes.vocab_size, sizes.d_model)
        self.wpe = nn.Embedding(sizes.max_seq_len, sizes.d_model)
        self.blocks = nn.ModuleList(
            Block(sizes.d_model, sizes.n_heads, sizes.expansion_ratio, attn_impl)
            for _ in range(sizes.n_layers)
        )
        self.norm_f = LPLayerNorm(sizes.d_model)


class GPT(nn.Module):
    """A language model."""

    def __init__(
        self,
        sizes: ModelSizes,
        *,
        attn_impl: str = "eager",
        activation_checkpointing: bool = False,
    ) -> None:
        super().__init__()
        self.sizes = sizes
        self.activation_checkpointing = activation_checkpointing
        self.transformer = Transformer(sizes, attn_impl)

    def forward(self, input_ids: Tensor, attention_mask: Tensor) -> Tensor:
        """Give logits in fp32. (b, t), (b, t) to (b, t, vocab_size)."""
        t = input_ids.shape[1]
        if t > self.sizes.max_seq_len:
            raise ValueError(f"{t} tokens; the model takes {self.sizes.max_seq_len}")
        positions = torch.arange(t, device=input_ids.device)
        x = self.transformer.wte(input_ids) + self.transformer.wpe(positions)[None]
        for block in self.transformer.blocks:
            if self.activation_checkpointing and self.training:
                x = checkpoint(block, x, attention_mask, use_reentrant=False)
            else:
                x = block(x, attention_mask)
        x = self.transformer.norm_f(x)
        return torch.matmul(x, self.transformer.wte.weight.to(x.dtype).t()).float()


def build_model(config: Config) -> GPT:
    """Make the model with the base model's sizes and weights, and freeze what is to be frozen."""
    folder = Path(config.model.pretrained_model_path)
    sizes = ModelSizes.load(folder)
    if config.max_seq_len > sizes.max_seq_len:
        raise ValueError(f"max_seq_len {config.max_seq_len}: the model takes {sizes.max_seq_len}")
    init_device = config.lookup("model.init_device", "cpu")
    with torch.device(init_device):
        model = GPT(
            sizes,
            attn_impl=config.lookup("model.attn_impl", "eager"),
            activation_checkpointing=config.lookup("parallel.activation_checkpointing", False),
        )
    if init_device == "meta":
        model = model.to_empty(device="cpu")
    else:
        initialise(model)
    state = load_file(folder / WEIGHTS)
    model.load_state_dict({name: value.float() for name, value in state.items()}, strict=True)
    freeze(model, config.lookup("model.frozen", []))
    return model


def initialise(model: nn.Module) -> None:
    """Draw initial weights."""
    for module in model.modules():
        if isinstance(module, nn.Linear | nn.Embedding):
            nn.init.normal_(module.weight, mean=0.0, std=0.02)


def freeze(model: nn.Module, prefixes: list[str]) -> None:
    """Exclude parameters whose names begin with a prefix from training."""
    for prefix in prefixes:
        chosen = [p for name, p in model.named_parameters() if name.startswith(prefix)]
        if not chosen:
            raise ValueError(f"model.frozen: no parameter begins with '{prefix}'")
        for parameter in chosen:
            parameter.requires_grad_(False)
