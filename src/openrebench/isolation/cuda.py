"""What a sandbox needs of the host to use NVIDIA GPUs: device files and the driver's libraries."""

from pathlib import Path

from openrebench.isolation.layout import Bind

# Not nvidia-caps and nvidia-uvm-tools: they reach beyond computing.
CONTROL_DEVICES = ("/dev/nvidiactl", "/dev/nvidia-uvm")


def cuda_devices() -> tuple[str, ...]:
    """Device files of all GPUs."""
    cards = sorted(str(p) for p in Path("/dev").glob("nvidia[0-9]*"))
    return (*cards, *(d for d in CONTROL_DEVICES if Path(d).exists()))


def cuda_binds() -> tuple[Bind, ...]:
    """Facts about the driver that the CUDA libraries read when they start."""
    facts = Path("/proc/driver/nvidia")
    return (Bind(source=facts, target=str(facts)),) if facts.exists() else ()
