"""Record a forward pass as plain data: a list of basic operations, and the constants they use.

    python -m checker.export OUT_FOLDER BATCH POSITIONS VOCABULARY

imports `model.py`, builds the model, loads `weights.safetensors` and writes `graph.json` and
`constants.safetensors`. The example tokens are random. Whatever does not depend on them, such as
parameters and what is computed from parameters alone, becomes a constant.
"""

import importlib
import json
import os
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from types import FrameType
from typing import NamedTuple

import torch
from safetensors.torch import load_file, save_file
from torch import nn
from torch.utils._python_dispatch import TorchDispatchMode

HERE = os.path.dirname(os.path.abspath(__file__))
# Their results take a shape from a tensor, but no values.
SHAPE_ONLY = ("zeros_like", "ones_like", "full_like", "new_zeros", "new_ones", "new_full")


class Call(NamedTuple):
    """One basic operation as it happened."""

    op: str
    args: tuple[object, ...]
    kwargs: Mapping[str, object]
    result: object
    line: str


class Recorder(TorchDispatchMode):
    """Keep every basic operation that runs while it is active, and every tensor alive."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.calls: list[Call] = []

    def __torch_dispatch__(
        self,
        func: Callable[..., object],
        types: object,
        args: tuple[object, ...] = (),
        kwargs: Mapping[str, object] | None = None,
    ) -> object:
        """Run one operation and keep it."""
        result = func(*args, **(kwargs or {}))
        self.calls.append(Call(str(func), args, kwargs or {}, result, _line_of_model()))
        return result


def record(forward: Callable[[torch.Tensor], torch.Tensor], tokens: torch.Tensor) -> "Graph":
    """Run a forward pass once and keep what depends on the tokens.

    Args:
        forward: The model.
        tokens: (batch, positions), int64: an example.
    """
    recorder = Recorder()
    with torch.no_grad(), recorder:
        output = forward(tokens)
    if not isinstance(output, torch.Tensor):
        raise TypeError(f"forward returned {type(output).__name__}; expected a tensor of logits")
    graph = Graph(tokens)
    for call in _dependent(recorder.calls, tokens):
        graph.add(call)
    graph.finish(output)
    return graph


class Graph:
    """Operations and constants as plain data, under construction."""

    def __init__(self, tokens: torch.Tensor) -> None:
        self.names: dict[int, str] = {id(tokens): "tokens"}
        self.constants: dict[str, torch.Tensor] = {}
        self.nodes: list[dict[str, object]] = []
        self.output: str | None = None

    def add(self, call: Call) -> None:
        """Append one operation."""
        args = self._encode(call.args)
        kwargs = {k: self._encode(v) for k, v in call.kwargs.items() if v is not None}
        outs = call.result if isinstance(call.result, list | tuple) else [call.result]
        first = len(self.nodes)
        names = [f"t{first}.{k}" for k in range(len(outs))]
        self.names |= {id(t): n for t, n in zip(outs, names, strict=True)}
        self.nodes.append(
            {"op": call.op, "args": args, "kwargs": kwargs, "out": names, "line": call.line}
        )

    def finish(self, output: torch.Tensor) -> None:
        """Name the result."""
        self.output = self.names.get(id(output))
        if self.output is None or self.output == "tokens":
            raise ValueError("the logits do not depend on the tokens in any way that PyTorch sees")

    def save(self, folder: Path) -> None:
        """Write `graph.json` and `constants.safetensors`."""
        save_file(self.constants, folder / "constants.safetensors")
        text = json.dumps({"nodes": self.nodes, "output": self.output})
        (folder / "graph.json").write_text(text)

    def _encode(self, value: object) -> object:
        if isinstance(value, torch.Tensor):
            return {"tensor": self._name(value)}
        if isinstance(value, list | tuple):
            return [self._encode(v) for v in value]
        if isinstance(value, torch.dtype):
            return {"dtype": str(value).removeprefix("torch.")}
        if isinstance(value, torch.memory_format):
            return {"format": str(value).removeprefix("torch.")}
        if isinstance(value, torch.device | torch.layout):
            return {"ignored": str(value)}
        if value is None or isinstance(value, bool | int | float):
            return value
        return {"unknown": type(value).__name__}

    def _name(self, tensor: torch.Tensor) -> str:
        if id(tensor) not in self.names:
            name = f"c{len(self.constants)}"
            self.names[id(tensor)] = name
            self.constants[name] = tensor.detach().clone().contiguous()
        return self.names[id(tensor)]


def _dependent(calls: list[Call], tokens: torch.Tensor) -> list[Call]:
    """Leave out the operations that touch nothing which ever depends on the tokens.

    Memory is what is followed: a tensor of zeros that tokens are later written into depends
    on them, and so do all views of it.
    """
    reached = {_memory(tokens)}
    for call in calls:
        inputs = {_memory(t) for t in _tensors([*call.args, *call.kwargs.values()])}
        shape_only = call.op.split(".")[1] in SHAPE_ONLY
        if inputs & reached and not shape_only:
            reached |= {_memory(t) for t in _tensors([call.result])}
            reached |= inputs if _writes(call) else set()
            if not _tensors([call.result]):  # a value that Python got to see
                reached.add(id(call))
    return [
        call
        for call in calls
        if id(call) in reached or {_memory(t) for t in _tensors([call.result])} & reached
    ]


def _writes(call: Call) -> bool:
    return call.op.split(".")[1].endswith("_")


def _memory(tensor: torch.Tensor) -> int:
    return int(tensor.untyped_storage()._cdata)


def _tensors(values: object) -> list[torch.Tensor]:
    if isinstance(values, torch.Tensor):
        return [values]
    if isinstance(values, list | tuple):
        return [t for value in values for t in _tensors(value)]
    return []


def _line_of_model() -> str:
    """Name the innermost line outside of PyTorch and this folder."""
    frame: FrameType | None = sys._getframe(2)
    inside = (HERE, os.path.dirname(torch.__file__), "<")
    while frame is not None and frame.f_code.co_filename.startswith(inside):
        frame = frame.f_back
    return f"{os.path.basename(frame.f_code.co_filename)}:{frame.f_lineno}" if frame else "?"


def load_model(folder: Path) -> nn.Module:
    """Build the model of `model.py` and load its weights, strictly."""
    sys.path.insert(0, str(folder))
    built: nn.Module = importlib.import_module("model").build()
    built.load_state_dict(load_file(folder / "weights.safetensors"))
    return built.eval()


def main() -> None:
    """Export the model in the current folder."""
    folder, (batch, positions, vocabulary) = Path(sys.argv[1]), map(int, sys.argv[2:5])
    torch.set_num_threads(1)
    try:
        tokens = torch.randint(vocabulary, (batch, positions))
        graph = record(load_model(Path.cwd()), tokens)
        folder.mkdir(exist_ok=True)
        graph.save(folder)
    except Exception as error:  # noqa: BLE001 - whatever it is, the scorer shows this one line
        sys.exit(f"{type(error).__name__}: {' '.join(str(error).split())}")


if __name__ == "__main__":
    main()
