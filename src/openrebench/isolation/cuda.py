"""What a sandbox needs of the host to use NVIDIA GPUs; the driver's libraries lie below /usr."""

from pathlib import Path

# Not nvidia-caps and nvidia-uvm-tools: they reach beyond computing.
CONTROL_DEVICES = ("/dev/nvidiactl", "/dev/nvidia-uvm")


def cuda_devices() -> tuple[str, ...]:
    """Device files of all GPUs."""
    cards = sorted(str(path) for path in Path("/dev").glob("nvidia[0-9]*"))
    return (*cards, *(device for device in CONTROL_DEVICES if Path(device).exists()))
