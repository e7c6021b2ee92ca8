"""Check an exported graph against the rules, and run it. Nothing of the model's code runs here."""

import json
import re
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from .rules import FLOAT, IN_PLACE, INTEGER, broken_rule

MAX_NODES = 20_000
MAX_DEPTH = 8  # of lists and objects in an argument
MAX_ELEMENTS = 1 << 27  # of one tensor: half a gigabyte
MAX_LIVE_ELEMENTS = 1 << 28  # of all tensors alive at a time
LINE = re.compile(r"^[\w.-]{1,40}:\d{1,6}$")
NAME = re.compile(r"^(tokens|c\d{1,6}|t\d{1,6}\.\d{1,4})$")
FAULTS = (  # what PyTorch raises when arguments don't fit
    RuntimeError, IndexError, TypeError, ValueError, NotImplementedError, AttributeError, KeyError,
    OverflowError, AssertionError, MemoryError,
)  # fmt: skip
FACTORIES = ("zeros", "ones", "full", "arange")
TYPES = {"float32": FLOAT, "int64": INTEGER}


class RuleBroken(Exception):
    """The graph does what the rules forbid; the text names the operation and the line."""


class BadGraph(Exception):
    """The graph is not a graph of this format, or does not run."""


@dataclass(frozen=True)
class Node:
    """One operation."""

    op: str
    args: tuple[Any, ...]
    kwargs: Mapping[str, Any]
    out: tuple[str, ...]
    line: str

    @property
    def where(self) -> str:
        """Name operation and source line, for messages."""
        return f"{self.line}: {self.op}"


@dataclass(frozen=True)
class Graph:
    """A checked list of operations, its constants, and the name of its result."""

    nodes: tuple[Node, ...]
    constants: Mapping[str, Tensor]
    output: str

    def to(self, device: str) -> "Graph":
        """Move the constants to a device."""
        moved = {name: value.to(device) for name, value in self.constants.items()}
        return Graph(self.nodes, moved, self.output)


def parse(text: bytes, constants: Mapping[str, Tensor]) -> Graph:
    """Read a graph from untrusted text.

    Raises:
        BadGraph: The text has another format, or is too long.
    """
    try:
        data = json.loads(text)
        nodes = tuple(_node(raw) for raw in data["nodes"])
        output = _name(data["output"])
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise BadGraph(f"the exported graph can't be read ({type(error).__name__})") from error
    if len(nodes) > MAX_NODES:
        raise BadGraph(f"the forward pass has {len(nodes)} operations; at most {MAX_NODES}")
    own = {name: value.detach().clone().contiguous() for name, value in constants.items()}
    return Graph(nodes, own, output)


def check(graph: Graph, tokens: Tensor, vocabulary: int) -> None:
    """Check every operation and size without computing anything.

    Args:
        graph: What to check.
        tokens: (batch, positions), int64; only its shape is used.
        vocabulary: Size of the last dimension of the logits.

    Raises:
        RuleBroken: An operation or its arguments are not allowed.
        BadGraph: The graph does not run, is too large, or gives another shape or type.
    """
    for name, value in graph.constants.items():
        if value.is_floating_point() and not bool(torch.isfinite(value).all()):
            raise RuleBroken(f"constant {name}: holds an infinite or undefined number")
    ghosts = {name: value.to("meta") for name, value in graph.constants.items()}
    ghost = Graph(graph.nodes, ghosts, graph.output)
    logits = run(ghost, tokens.to("meta"))
    expected = (*tokens.shape, vocabulary)
    if logits.shape != expected or logits.dtype != FLOAT:
        raise BadGraph(
            f"forward returned {tuple(logits.shape)} {logits.dtype}; expected {expected} {FLOAT}"
        )


def run(graph: Graph, tokens: Tensor, deadline: float | None = None) -> Tensor:
    """Compute the logits of a batch.

    Args:
        graph: Operations and constants.
        tokens: (batch, positions), int64; never changed.
        deadline: `time.monotonic()` after which to give up.

    Raises:
        RuleBroken: As `check`.
        BadGraph: As `check`.
        TimeoutError: The deadline has passed.
    """
    # Its own memory: nothing that the tokens were cut from lies behind it.
    values = {"tokens": tokens.clone(), **graph.constants}
    fixed = {_memory(value) for value in values.values()}
    last_use = _last_uses(graph)
    live = 0
    with torch.no_grad():
        for k, node in enumerate(graph.nodes):
            results = _call(node, values, fixed)
            for name, value in zip(node.out, results, strict=True):
                values[name] = value
                live += value.numel()
            if live > MAX_LIVE_ELEMENTS:
                raise BadGraph(f"{node.where}: over {MAX_LIVE_ELEMENTS} numbers alive at a time")
            for name in last_use.get(k, ()):
                live -= values.pop(name).numel()
            if deadline is not None and time.monotonic() > deadline:
                raise TimeoutError
    if graph.output not in values:
        raise BadGraph("the exported graph has no result")
    return values[graph.output]


def _call(node: Node, values: Mapping[str, Tensor], fixed: set[int]) -> list[Tensor]:
    args = [_value(arg, values, node) for arg in node.args]
    kwargs = {key: _value(arg, values, node) for key, arg in node.kwargs.items()}
    kwargs = {key: value for key, value in kwargs.items() if value is not None}
    problem = broken_rule(node.op, args, kwargs)
    if problem:
        raise RuleBroken(f"{node.where} {problem}")
    target = args[0] if args else None
    if node.op in IN_PLACE and isinstance(target, Tensor) and _memory(target) in fixed:
        raise RuleBroken(f"{node.where} writes into a parameter, a constant or the tokens")
    for key in ("device", "layout", "pin_memory"):
        kwargs.pop(key, None)
    _, name, overload = node.op.split(".")
    if name in FACTORIES:
        kwargs["device"] = values["tokens"].device
    try:
        _check_positions(node, args)
        result = getattr(getattr(torch.ops.aten, name), overload)(*args, **kwargs)
    except FAULTS as error:
        first = " ".join(str(error).split())[:160]
        raise BadGraph(f"{node.where} does not run ({first})") from error
    return _results(node, result)


def _check_positions(node: Node, args: list[Any]) -> None:
    """Refuse positions out of range on a GPU, where PyTorch would end the whole process."""
    name = node.op.split(".")[1]
    for positions, size in _positions(name, args):
        if positions.is_cuda and positions.numel():
            lowest = -size if name == "index" else 0
            if int(positions.min()) < lowest or int(positions.max()) >= size:
                raise IndexError(f"a position is out of range; the size is {size}")


def _positions(name: str, args: list[Any]) -> list[tuple[Tensor, int]]:
    """Give the index tensors of a call, each with the size of what it looks into."""
    if name == "embedding":
        return [(args[1], args[0].shape[0])]
    if name == "index":
        pairs = zip(args[1], args[0].shape, strict=False)
        return [(positions, size) for positions, size in pairs if positions is not None]
    if name in ("index_select", "gather"):
        return [(args[2], args[0].shape[args[1]])]
    return []


def _memory(tensor: Tensor) -> int:
    return int(tensor.untyped_storage()._cdata)


def _results(node: Node, result: object) -> list[Tensor]:
    found = result if isinstance(result, list | tuple) else [result]
    results = [r for r in found if isinstance(r, Tensor)]
    if len(results) != len(node.out) or len(results) != len(found):
        raise BadGraph(f"{node.where} gives another number of results than recorded")
    if any(r.numel() > MAX_ELEMENTS for r in results):
        raise BadGraph(f"{node.where} makes a tensor of over {MAX_ELEMENTS} numbers")
    return results


def _value(raw: object, values: Mapping[str, Tensor], node: Node) -> object:
    """Turn an argument of the graph's format into what the operation gets."""
    if isinstance(raw, list):
        return [_value(item, values, node) for item in raw]
    if not isinstance(raw, dict) or len(raw) != 1:
        return raw
    kind, content = next(iter(raw.items()))
    if kind == "tensor" and isinstance(content, str) and content in values:
        return values[content]
    return _described(kind, content, node)


def _described(kind: str, content: object, node: Node) -> object:
    """Turn what is neither a tensor nor a number into what the operation gets."""
    if kind == "tensor":
        raise BadGraph(f"{node.where} uses {str(content)[:40]!r}, which does not exist")
    if kind == "dtype":
        if not isinstance(content, str) or content not in TYPES:
            raise RuleBroken(f"{node.where} casts to {str(content)[:20]}; use float32 or int64")
        return TYPES[content]
    if kind == "format" and content == "contiguous_format":
        return torch.contiguous_format
    if kind in ("ignored", "format"):
        return None
    raise BadGraph(f"{node.where} has an argument of type {str(content)[:40]}")


def _node(raw: Mapping[str, Any]) -> Node:
    line = raw["line"] if LINE.match(raw["line"]) else "?"
    op = raw["op"]
    if not re.match(r"^\w+\.\w+\.\w+$", op) or not isinstance(raw["args"], list):
        raise ValueError(op)
    kwargs = {str(key): value for key, value in raw["kwargs"].items()}
    if not all(map(_shallow, [*raw["args"], *kwargs.values()])):
        raise ValueError("an argument is nested too deeply")
    return Node(op[:80], tuple(raw["args"]), kwargs, tuple(map(_name, raw["out"])), line)


def _shallow(raw: object, left: int = MAX_DEPTH) -> bool:
    inside = list(raw.values()) if isinstance(raw, dict) else raw if isinstance(raw, list) else []
    return left > 0 and all(_shallow(item, left - 1) for item in inside)


def _name(raw: str) -> str:
    if not NAME.match(raw):
        raise ValueError("not a tensor's name")
    return raw


def _last_uses(graph: Graph) -> dict[int, list[str]]:
    """Tell after which operation a result is no longer needed."""
    last: dict[str, int] = {}
    for k, node in enumerate(graph.nodes):
        last |= dict.fromkeys(node.out, k)
        last |= dict.fromkeys(_names([*node.args, *node.kwargs.values()]), k)
    ends: dict[int, list[str]] = {}
    for name, k in last.items():
        if name.startswith("t") and name not in ("tokens", graph.output):
            ends.setdefault(k, []).append(name)
    return ends


def _names(raw: object) -> Iterator[str]:
    if isinstance(raw, list):
        for item in raw:
            yield from _names(item)
    elif isinstance(raw, dict) and isinstance(raw.get("tensor"), str):
        yield raw["tensor"]
