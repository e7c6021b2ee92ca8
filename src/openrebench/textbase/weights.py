"""Model weights as safetensors, read strictly: nothing in such a file can run.

Needs torch and safetensors, so import it only where a model is really used.
"""

from collections.abc import Mapping
from pathlib import Path

import torch
from safetensors import SafetensorError
from safetensors.torch import load as parse
from safetensors.torch import save_file
from torch import Tensor

from openrebench.errors import InvalidSubmission, Reason
from openrebench.textbase.gpt import GPT, GPTConfig

DTYPE = torch.float16
NAMES_SHOWN = 4


def save_weights(path: Path, model: GPT) -> None:
    """Write a model's parameters in fp16."""
    save_tensors(path, model.state_dict())


def save_tensors(path: Path, tensors: Mapping[str, Tensor]) -> None:
    """Write tensors in fp16."""
    half = {name: value.detach().to("cpu", DTYPE) for name, value in tensors.items()}
    path.parent.mkdir(parents=True, exist_ok=True)
    save_file({name: value.contiguous() for name, value in half.items()}, path)
    path.chmod(0o644)  # safetensors makes files that only their owner can read


def load_model(path: Path, config: GPTConfig) -> GPT:
    """Read a model of ours, in fp32 and evaluation mode."""
    return model_of(parse(path.read_bytes()), config)


def model_of(weights: Mapping[str, Tensor], config: GPTConfig) -> GPT:
    """Put checked weights into a model, in fp32 and evaluation mode."""
    model = GPT(config)
    model.load_state_dict({name: value.float() for name, value in weights.items()})
    return model.eval()


def read_submitted(path: Path, config: GPTConfig) -> dict[str, Tensor]:
    """Read somebody else's weights for a model that we own.

    Raises:
        InvalidSubmission: The file is not safetensors, or its names, shapes or types are not
            exactly the model's, or a number in it is not finite.
    """
    found = read_tensors(path)
    with torch.device("meta"):
        expected = GPT(config).state_dict()
    _check_names(path.name, set(found), set(expected))
    for name, wanted in expected.items():
        value = found[name]
        if value.shape != wanted.shape:
            raise InvalidSubmission(
                Reason.WRONG_SHAPE,
                f"{path.name}: '{name}' has shape {list(value.shape)}; "
                f"expected {list(wanted.shape)}",
            )
        if value.dtype != DTYPE:
            raise InvalidSubmission(
                Reason.WRONG_OUTPUT,
                f"{path.name}: '{name}' is {value.dtype}; expected {DTYPE}, like the given model",
            )
        check_finite(path.name, name, value)
    return found


def read_tensors(path: Path) -> dict[str, Tensor]:
    """Read untrusted safetensors.

    Raises:
        InvalidSubmission: The file is missing or not safetensors.
    """
    try:
        return parse_tensors(path.name, path.read_bytes())
    except FileNotFoundError:
        raise InvalidSubmission(Reason.MISSING_FILE, f"{path.name} is missing") from None


def parse_tensors(name: str, content: bytes) -> dict[str, Tensor]:
    """Parse untrusted safetensors; `name` is for the message.

    Raises:
        InvalidSubmission: The bytes are not safetensors.
    """
    try:
        return parse(content)
    except (SafetensorError, ValueError, KeyError) as error:
        sentence = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise InvalidSubmission(
            Reason.WRONG_OUTPUT, f"{name}: not a safetensors file ({sentence[:120]})"
        ) from error


def check_finite(file: str, name: str, value: Tensor) -> None:
    """Refuse a tensor with a NaN or an infinity.

    Raises:
        InvalidSubmission: It has one.
    """
    if value.is_floating_point() and not bool(torch.isfinite(value).all()):
        raise InvalidSubmission(Reason.NON_FINITE, f"{file}: '{name}' holds a NaN or an infinity")


def _check_names(file: str, found: set[str], expected: set[str]) -> None:
    missing, extra = sorted(expected - found), sorted(found - expected)
    if missing or extra:
        raise InvalidSubmission(
            Reason.WRONG_OUTPUT,
            f"{file}: tensors missing: {_some(missing)}; tensors too many: {_some(extra)}",
        )


def _some(names: list[str]) -> str:
    shown = ", ".join(names[:NAMES_SHOWN]) or "none"
    return f"{shown} and {len(names) - NAMES_SHOWN} more" if len(names) > NAMES_SHOWN else shown
