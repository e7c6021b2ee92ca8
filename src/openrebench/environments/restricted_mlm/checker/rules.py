"""Which operations a forward pass may use, and with which arguments.

Names are those of PyTorch's own basic operations (ATen). What is not listed is not allowed.
"""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import torch

FLOAT, INTEGER = torch.float32, torch.int64

PRODUCTS = (
    "mm bmm addmm baddbmm dot mv addmv matmul linear outer embedding "
    "mul.Tensor mul.Scalar mul_.Tensor mul_.Scalar"
)
SUMS = (
    "add.Tensor add.Scalar add_.Tensor add_.Scalar sub.Tensor sub.Scalar sub_.Tensor sub_.Scalar "
    "rsub.Tensor rsub.Scalar neg sum sum.dim_IntList"
)
RELU = "relu relu_"
INDEXING = (
    "select.int slice.Tensor narrow index.Tensor index_select gather unbind.int split.Tensor "
    "split_with_sizes diagonal"
)
RESHAPING = (
    "view _unsafe_view _reshape_alias reshape expand permute transpose.int t squeeze squeeze.dim "
    "squeeze.dims unsqueeze as_strided unfold cat stack repeat roll flip constant_pad_nd clone "
    "detach alias lift_fresh lift_fresh_copy _to_copy copy_ slice_scatter select_scatter"
)
CONSTANTS = "zeros ones full zeros_like ones_like full_like new_zeros new_ones new_full arange"


def _full_names(*groups: str) -> frozenset[str]:
    names = " ".join(groups).split()
    return frozenset(f"aten.{n if '.' in n else n + '.default'}" for n in names)


ALLOWED = _full_names(PRODUCTS, SUMS, RELU, INDEXING, RESHAPING, CONSTANTS)
IN_PLACE = frozenset(name for name in ALLOWED if name.split(".")[1].endswith("_"))
SAME_TYPE = _full_names("copy_ slice_scatter select_scatter cat stack")  # these would cast silently

HINTS = {
    "div": "multiply by a constant instead",
    "mean": "use sum and multiply by a constant",
    "pow": "multiply the tensor by itself",
    "linalg_vector_norm": "norms are not allowed",
    "gelu": "relu is the only nonlinearity",
    "where": "multiply by a constant mask",
    "masked_fill": "multiply by a constant mask",
    "convolution": "build it from slices, cat and matmul",
    "native_layer_norm": "norms are not allowed",
    "_softmax": "relu is the only nonlinearity",
    "item": "values of tensors may not be used in Python",
    "_local_scalar_dense": "values of tensors may not be used in Python",
    "empty": "use zeros",
    "new_empty": "use new_zeros",
    "cumsum": "multiply by a constant triangular matrix",
}


def broken_rule(op: str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> str | None:
    """Say which rule a call breaks, or None.

    Args:
        op: Full ATen name, such as `aten.add.Tensor`.
        args: Arguments as the operation gets them; tensors may have no data.
        kwargs: The same by name.
    """
    if op not in ALLOWED:
        hint = HINTS.get(op.split(".")[1].rstrip("_") if op.count(".") else "", "")
        return "is not an allowed operation" + (f" ({hint})" if hint else "")
    values = list(_flat([*args, *kwargs.values()]))
    tensors = [v for v in values if isinstance(v, torch.Tensor)]
    for tensor in tensors:
        if tensor.dtype not in (FLOAT, INTEGER):
            return f"works on {tensor.dtype}; only float32 and int64 are allowed"
    if any(isinstance(v, float) and not math.isfinite(v) for v in values):
        return "has an infinite or undefined number as an argument"
    if op in SAME_TYPE and len({tensor.dtype for tensor in tensors}) > 1:
        return "mixes float and integer tensors, which casts one of them"
    return _cast(tensors, kwargs.get("dtype"))


def _cast(tensors: list[torch.Tensor], target: torch.dtype | None) -> str | None:
    """Refuse casts to integers, which round, and to types of other precision, which round too."""
    if target is None:
        return None
    if target not in (FLOAT, INTEGER):
        return f"casts to {target}; only float32 and int64 are allowed"
    if target == INTEGER and any(tensor.dtype == FLOAT for tensor in tensors):
        return "casts from float to integer"
    return None


def _flat(values: Iterable[Any]) -> Iterator[Any]:
    for value in values:
        if isinstance(value, list | tuple):
            yield from _flat(value)
        else:
            yield value
