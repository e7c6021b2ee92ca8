"""What runs beside training: monitors and samples."""

from foundry.callbacks.base import Callback
from foundry.callbacks.generate import GenerateSamples
from foundry.callbacks.memory import MemoryMonitor
from foundry.callbacks.optimizer import OptimizerMonitor
from foundry.callbacks.speed import LRMonitor, SpeedMonitor
from foundry.config import Config
from foundry.tokenizer import Tokenizer

CALLBACKS = {
    "speed_monitor": SpeedMonitor,
    "lr_monitor": LRMonitor,
    "optimizer_monitor": OptimizerMonitor,
    "memory_monitor": MemoryMonitor,
    "generate_samples": GenerateSamples,
}


def build_callbacks(config: Config, tokenizer: Tokenizer) -> list[Callback]:
    """Make the callbacks that the configuration names, in its order."""
    callbacks = []
    for name, settings in (config.get("callbacks") or {}).items():
        if name not in CALLBACKS:
            raise ValueError(f"callbacks: '{name}' is not known; there are {', '.join(CALLBACKS)}")
        callbacks.append(CALLBACKS[name](Config(settings or {}), config, tokenizer))
    return callbacks
