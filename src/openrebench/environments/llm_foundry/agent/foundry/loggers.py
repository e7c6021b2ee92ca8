"""Where metrics go: the console, and a file that survives a crash."""

import json
import os
import time
from pathlib import Path
from typing import Any

from foundry import distributed
from foundry.config import Config, parse_time

METRICS = "metrics.jsonl"


class ConsoleLogger:
    """Prints the metrics of every nth batch."""

    def __init__(self, interval: str) -> None:
        self.every = max(1, parse_time(interval).value)

    def write(self, batch: int, metrics: dict[str, Any]) -> None:
        if batch % self.every:
            return
        shown = {k: v for k, v in metrics.items() if not k.startswith("optimizer/")}
        text = " ".join(f"{name}={value:.4g}" for name, value in sorted(shown.items()))
        print(f"[batch {batch}] {text}", flush=True)

    def close(self) -> None:
        pass


class FileLogger:
    """Appends one line of JSON for each batch, on disk before training goes on."""

    def __init__(self, folder: str) -> None:
        Path(folder).mkdir(parents=True, exist_ok=True)
        self.path = Path(folder, METRICS)

    def write(self, batch: int, metrics: dict[str, Any]) -> None:
        with open(self.path, "a", encoding="utf-8") as file:
            file.write(json.dumps({"batch": batch, "time": time.time(), **metrics}) + "\n")
            file.flush()
            os.fsync(file.fileno())

    def close(self) -> None:
        pass


class LoggerGroup:
    """Collects the metrics of a batch and passes them to all loggers; only on the main process."""

    def __init__(self, config: Config) -> None:
        self.loggers: list[Any] = []
        self.pending: dict[str, Any] = {}
        if not distributed.is_main():
            return
        loggers = config.get("loggers", Config())
        if "console" in loggers:
            self.loggers.append(ConsoleLogger(loggers.console.get("interval", "1ba")))
        if "file" in loggers:
            self.loggers.append(FileLogger(loggers.file.folder))

    def log(self, metrics: dict[str, Any], batch: int) -> None:
        """Add metrics of a batch."""
        self.pending.update(metrics)

    def flush(self, batch: int) -> None:
        """Write what was collected."""
        if not self.pending:
            return
        for logger in self.loggers:
            logger.write(batch, self.pending)
        self.pending = {}

    def close(self) -> None:
        for logger in self.loggers:
            logger.close()


def read_losses(folder: str | Path) -> list[float]:
    """Read the training loss of every batch from a log folder."""
    losses = {}
    with open(Path(folder, METRICS), encoding="utf-8") as file:
        for line in file:
            entry = json.loads(line)
            if "loss/train/total" in entry:
                losses[entry["batch"]] = entry["loss/train/total"]
    return [losses[batch] for batch in sorted(losses)]
