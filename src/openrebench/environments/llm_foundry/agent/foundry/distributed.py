"""One process for each GPU, or just one."""

import os
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor, nn

from foundry.config import Config


def initialise() -> torch.device:
    """Join the other processes if there are any; give the device to compute on."""
    world = int(os.environ.get("WORLD_SIZE", "1"))
    local_rank = int(os.environ.get("LOCAL_RANK", "0"))
    if torch.cuda.is_available():
        torch.cuda.set_device(local_rank)
        device = torch.device("cuda", local_rank)
    else:
        device = torch.device("cpu")
    if world > 1:
        dist.init_process_group("nccl" if device.type == "cuda" else "gloo")
    return device


def shut_down() -> None:
    """Leave the group."""
    if dist.is_initialized():
        dist.destroy_process_group()


def rank() -> int:
    return dist.get_rank() if dist.is_initialized() else 0


def world_size() -> int:
    return dist.get_world_size() if dist.is_initialized() else 1


def is_main() -> bool:
    return rank() == 0


def barrier() -> None:
    """Wait for the others."""
    if dist.is_initialized():
        dist.barrier()


def all_sum(value: Tensor) -> Tensor:
    """Sum a tensor over all processes."""
    if dist.is_initialized():
        dist.all_reduce(value)
    return value


def wrap(model: nn.Module, config: Config) -> nn.Module:
    """Spread a model over the processes as the configuration says."""
    if world_size() == 1:
        return model
    strategy = config.lookup("parallel.strategy", "ddp")
    if strategy == "ddp":
        return nn.parallel.DistributedDataParallel(model)
    if strategy != "fsdp":
        raise ValueError(f"parallel.strategy '{strategy}': known are fsdp and ddp")
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.fsdp import fully_shard

    device = next(model.parameters()).device.type
    mesh = init_device_mesh(device, (world_size(),))
    for block in model.transformer.blocks:
        fully_shard(block, mesh=mesh)
    fully_shard(model, mesh=mesh)
    return model


def unwrap(model: nn.Module) -> nn.Module:
    """Give the model inside a DDP wrapper."""
    return model.module if isinstance(model, nn.parallel.DistributedDataParallel) else model


def whole(tensor: Tensor) -> Tensor:
    """Give a sharded tensor in full; all processes must call this together."""
    return tensor.full_tensor() if hasattr(tensor, "full_tensor") else tensor


def full_state(model: nn.Module) -> dict[str, Tensor]:
    """Collect all weights on the CPU of every process."""
    state = unwrap(model).state_dict()
    return {name: whole(value).detach().cpu().clone() for name, value in state.items()}


def full_optimizer_state(state: dict[str, Any]) -> dict[str, Any]:
    """Collect an optimiser's state on the CPU."""
    collected = {}
    for key, value in state.items():
        if isinstance(value, dict):
            collected[key] = full_optimizer_state(value)
        elif isinstance(value, Tensor):
            collected[key] = whole(value).detach().cpu().clone()
        else:
            collected[key] = value
    return collected
