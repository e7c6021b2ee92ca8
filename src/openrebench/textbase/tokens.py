"""Token files: uint16 little-endian, xz-compressed, at a third of the text's size."""

import lzma
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

Tokens = NDArray[np.uint16]


def save_tokens(path: Path, tokens: Tokens) -> None:
    """Write tokens; equal tokens give equal bytes."""
    path.parent.mkdir(parents=True, exist_ok=True)
    data = np.ascontiguousarray(tokens, dtype="<u2").tobytes()
    path.write_bytes(lzma.compress(data, preset=9 | lzma.PRESET_EXTREME))


def load_tokens(path: Path) -> Tokens:
    """Read a token file.

    Returns:
        (n,), uint16.
    """
    return np.frombuffer(lzma.decompress(path.read_bytes()), dtype="<u2")
