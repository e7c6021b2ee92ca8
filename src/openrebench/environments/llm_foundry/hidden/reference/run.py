"""Tokenise, train and write the model in one process.

Canary 7f0c1e0a-5b0e-4d0b-9c43-2f6f1f4f6a51
"""

import contextlib
import json
import math
import os
import re
import sys

import torch
import yaml
from model import Layout, loss_sum
from rows import Tokenizer, read
from safetensors.torch import load_file, save_file

OUT = "trained_model"


def batches_of(text, per_epoch):
    value, unit = re.fullmatch(r"(\d+)\s*(ba|ep)?", str(text).strip()).groups()
    return int(value) * (per_epoch if unit == "ep" else 1)


def order(count, epoch, config):
    if not config["train_loader"]["dataset"]["shuffle"]:
        return list(range(count))
    generator = torch.Generator().manual_seed(config["seed"] + epoch)
    return torch.randperm(count, generator=generator).tolist()


def batch_stream(rows, config):
    """Yield the rows of each batch; gives the number of batches of an epoch first."""
    size = config["global_train_batch_size"]
    drop = config["train_loader"]["drop_last"]
    per_epoch = len(rows) // size if drop else math.ceil(len(rows) / size)
    total = batches_of(config["max_duration"], per_epoch)
    yield per_epoch, total
    epoch = done = 0
    while done < total:
        numbers = order(len(rows), epoch, config)
        for k in range(per_epoch):
            if done == total:
                break
            yield [rows[i] for i in numbers[k * size : (k + 1) * size]]
            done += 1
        epoch += 1


class Rates:
    def __init__(self, config, per_epoch, total):
        settings = config["scheduler"]
        self.decays = settings["name"] == "linear_decay_with_warmup"
        self.warmup = batches_of(settings["t_warmup"], per_epoch)
        self.last, self.total = settings.get("alpha_f", 0.0), total
        self.peak = config["optimizer"]["lr"]

    def at(self, batch):
        if batch < self.warmup:
            return self.peak * (batch + 1) / self.warmup
        if not self.decays:
            return self.peak
        done = (batch - self.warmup) / max(1, self.total - self.warmup)
        return self.peak * (1.0 - (1.0 - self.last) * done)


class AdamW:
    """PyTorch's fused step, without the import of `torch.optim`."""

    def __init__(self, weights, settings):
        self.beta1, self.beta2 = settings["betas"]
        self.eps = settings["eps"]
        matrices = [w for w in weights if w.dim() >= 2]
        vectors = [w for w in weights if w.dim() < 2]
        self.groups = []
        for group, decay in ((matrices, settings["weight_decay"]), (vectors, 0.0)):
            if group:
                moments = [[torch.zeros_like(w) for w in group] for _ in range(2)]
                steps = [torch.zeros((), device=w.device) for w in group]
                self.groups.append((group, moments, steps, decay))

    def step(self, rate):
        for group, (first, second), steps, decay in self.groups:
            torch._foreach_add_(steps, 1)
            torch._fused_adamw_(
                group, [w.grad for w in group], first, second, [], steps,
                lr=rate, beta1=self.beta1, beta2=self.beta2, weight_decay=decay, eps=self.eps,
                amsgrad=False, maximize=False,
            )  # fmt: skip


def clip(gradients, threshold):
    if threshold > 0:
        norms = torch._foreach_norm(gradients)
        total = torch.linalg.vector_norm(torch.stack(norms))
        scale = (threshold / (total + 1e-6)).clamp(max=1.0)
        torch._foreach_mul_(gradients, scale)


def start():
    """Join the other processes, if there are any."""
    world, rank = int(os.environ.get("WORLD_SIZE", 1)), int(os.environ.get("LOCAL_RANK", 0))
    device = torch.device("cuda", rank) if torch.cuda.is_available() else torch.device("cpu")
    if device.type == "cuda":
        torch.cuda.set_device(device)
    if world > 1:
        torch.distributed.init_process_group("nccl" if device.type == "cuda" else "gloo")
    return device, rank, world


def load(config, device):
    """Read the base model; give weights, those that are trained, and sizes."""
    folder = config["model"]["pretrained_model_path"]
    with open(f"{folder}/config.json") as file:
        sizes = json.load(file)
    state = load_file(f"{folder}/model.safetensors", device=str(device))
    weights = {name: value.float() for name, value in state.items()}
    frozen = tuple(config["model"].get("frozen", []))
    trained = [w for name, w in weights.items() if not (frozen and name.startswith(frozen))]
    for weight in trained:
        weight.requires_grad_(True)
        weight.grad = torch.zeros_like(weight)
    return weights, trained, sizes


def train(config, device, rank, world):
    weights, trained, sizes = load(config, device)
    tokenizer = Tokenizer(config["tokenizer"]["path"])
    settings = config["train_loader"]["dataset"]
    rows = read("train_data.jsonl", tokenizer, settings, config["max_seq_len"])
    stream = batch_stream(rows, config)
    rates = Rates(config, *next(stream))
    adam = AdamW(trained, config["optimizer"])
    threshold = config.get("gradient_clipping", {}).get("clipping_threshold", 0.0)
    loss_settings = config.get("loss") or {}
    smoothing, z_loss = (loss_settings.get(k, 0.0) for k in ("label_smoothing", "z_loss"))
    half = config.get("precision", "fp32") == "amp_bf16"
    gradients = [w.grad for w in trained]
    losses = []
    for number, batch in enumerate(stream):
        targets = sum(len(tokens) - first for tokens, first in batch)
        mine = batch[rank::world]
        torch._foreach_zero_(gradients)
        if mine:
            layout = Layout(mine, device)
            with torch.autocast(device.type, torch.bfloat16) if half else contextlib.nullcontext():
                loss = loss_sum(weights, sizes, layout, smoothing, z_loss) / targets
            loss.backward()
        losses.append(loss.detach() if mine else torch.zeros((), device=device))
        if world > 1:
            for gradient in gradients:
                torch.distributed.all_reduce(gradient)
        with torch.no_grad():
            clip(gradients, threshold)
            adam.step(rates.at(number))
    total = torch.stack(losses)
    if world > 1:
        torch.distributed.all_reduce(total)
    return weights, total.tolist()


def main():
    with open("finetune.yaml", encoding="utf-8") as file:
        config = yaml.load(file, yaml.CSafeLoader if yaml.__with_libyaml__ else yaml.SafeLoader)
    device, rank, world = start()
    weights, losses = train(config, device, rank, world)
    if rank == 0:
        os.makedirs(OUT, exist_ok=True)
        state = {name: value.detach().cpu().contiguous() for name, value in weights.items()}
        save_file(state, f"{OUT}/model.safetensors")
        with open(f"{OUT}/train_loss.json", "w") as file:
            json.dump(losses, file)
    if world > 1:
        torch.distributed.destroy_process_group()
    sys.stdout.flush()
    os._exit(0)


if __name__ == "__main__":
    main()
