"""What a sandbox needs of the host to use NVIDIA GPUs; the driver's libraries lie below /usr."""

import os
from pathlib import Path

from openrebench.isolation.device import VISIBLE, visible_gpus

# Not nvidia-caps and nvidia-uvm-tools: they reach beyond computing.
CONTROL_DEVICES = ("/dev/nvidiactl", "/dev/nvidia-uvm")
# What a host's operator has switched off between GPUs holds inside, too.
SWITCHES = ("NCCL_NVLS_ENABLE", "NVSHMEM_DISABLE_NVLS", "TORCH_SYMM_MEM_DISABLE_MULTICAST")


def cuda_devices() -> tuple[str, ...]:
    """Device files of all GPUs, or of those that CUDA_VISIBLE_DEVICES names."""
    cards = sorted(str(path) for path in Path("/dev").glob("nvidia[0-9]*"))
    if VISIBLE in os.environ:
        ours = {f"/dev/nvidia{gpu.number}" for gpu in visible_gpus()}
        cards = [card for card in cards if card in ours]
    return (*cards, *(device for device in CONTROL_DEVICES if Path(device).exists()))


def cuda_switches() -> dict[str, str]:
    """Environment variables of ours that processes on GPUs get."""
    return {name: os.environ[name] for name in SWITCHES if name in os.environ}
