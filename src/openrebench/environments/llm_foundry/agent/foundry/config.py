"""The run's configuration: a YAML file with `a.b.c=value` overrides."""

import re
from pathlib import Path
from typing import Any, NamedTuple

import yaml

REQUIRED = (
    "seed",
    "max_seq_len",
    "global_train_batch_size",
    "max_duration",
    "model",
    "tokenizer",
    "train_loader",
    "optimizer",
    "scheduler",
)


class ConfigError(ValueError):
    """The configuration can't be used."""


class Config(dict):
    """A dict whose keys can be read as attributes, at every level."""

    def __init__(self, values: dict[str, Any] | None = None) -> None:
        super().__init__()
        for key, value in (values or {}).items():
            self[key] = _wrap(value)

    def __getattr__(self, name: str) -> Any:
        try:
            return self[name]
        except KeyError:
            raise AttributeError(f"the configuration has no '{name}'") from None

    def lookup(self, path: str, default: Any = None) -> Any:
        """Read `a.b.c`, or give the default where a part is missing."""
        found: Any = self
        for part in path.split("."):
            if not isinstance(found, dict) or part not in found:
                return default
            found = found[part]
        return found

    def assign(self, path: str, value: Any) -> None:
        """Set `a.b.c`, making the levels above it."""
        *parents, last = path.split(".")
        level: Any = self
        for part in parents:
            if not isinstance(level.get(part), dict):
                level[part] = Config()
            level = level[part]
        level[last] = _wrap(value)


def _wrap(value: Any) -> Any:
    if isinstance(value, dict):
        return Config(value)
    if isinstance(value, list):
        return [_wrap(item) for item in value]
    return value


def load_config(path: str | Path, overrides: list[str] = ()) -> Config:
    """Read a configuration and apply `key=value` overrides; values are YAML."""
    with open(path, encoding="utf-8") as file:
        raw = yaml.safe_load(file)
    if not isinstance(raw, dict):
        raise ConfigError(f"{path}: expected a mapping at the top")
    config = Config(raw)
    for override in overrides:
        key, equals, value = override.partition("=")
        if not equals:
            raise ConfigError(f"override '{override}': expected key=value")
        config.assign(key, yaml.safe_load(value))
    _validate(config, path)
    return config


def _validate(config: Config, path: str | Path) -> None:
    missing = [name for name in REQUIRED if name not in config]
    if missing:
        raise ConfigError(f"{path}: {', '.join(missing)} missing")
    if config.lookup("precision", "fp32") not in ("fp32", "amp_bf16"):
        raise ConfigError(f"{path}: precision '{config.precision}' is not known")
    if config.global_train_batch_size < 1 or config.max_seq_len < 2:
        raise ConfigError(f"{path}: batch size and sequence length must be positive")
    parse_time(config.max_duration)


class Time(NamedTuple):
    """A duration: a number of batches or of epochs."""

    value: int
    unit: str

    def batches(self, per_epoch: int) -> int:
        """Give the duration in batches."""
        return self.value * per_epoch if self.unit == "ep" else self.value


def parse_time(text: str | int) -> Time:
    """Read `125ba`, `2ep`, or a bare number of batches."""
    match = re.fullmatch(r"(\d+)\s*(ba|ep)?", str(text).strip())
    if match is None:
        raise ConfigError(f"duration '{text}': expected a number followed by 'ba' or 'ep'")
    return Time(int(match[1]), match[2] or "ba")
