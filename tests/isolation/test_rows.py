"""How a worker finds inputs and outputs in two shared pieces of device memory; needs no GPU."""

import json
import sys
from types import SimpleNamespace

import pytest

torch = pytest.importorskip("torch")

from openrebench.isolation import cuda_worker, shim  # noqa: E402

N, PAIRS = 100, 3


@pytest.fixture
def buffers(monkeypatch: pytest.MonkeyPatch) -> shim.Buffers:
    """Buffers over memory of this process, whose words say where they lie."""
    nbytes = cuda_worker.row_words(N) * PAIRS * cuda_worker.INT_BYTES

    def opened(fd: int, size: int) -> SimpleNamespace:
        words = torch.arange(size // cuda_worker.INT_BYTES, dtype=torch.int32)
        return SimpleNamespace(ints=lambda: words + 1_000_000 * fd)

    memory = SimpleNamespace(DeviceBuffer=SimpleNamespace(open=opened))
    monkeypatch.setitem(sys.modules, "device_memory", memory)  # type: ignore[arg-type]
    monkeypatch.setattr(shim.torch, "zeros", lambda *_, **__: None)
    monkeypatch.setattr(sys, "path", [*sys.path])
    return shim.Buffers({"bytes": nbytes, "rows": PAIRS}, "cuda", [1, 2])


def asked(calls: int, n: int) -> bytes:
    return json.dumps([calls, n]).encode()


def test_inputs_and_outputs_lie_in_rows(buffers: shim.Buffers) -> None:
    pairs = buffers.pairs(asked(PAIRS, N), [])
    assert [(int(x[0]), int(out[0])) for x, out in pairs] == [
        (1_000_000, 2_000_000), (1_000_128, 2_000_128), (1_000_256, 2_000_256),
    ]  # fmt: skip
    assert all(x.shape == out.shape == (N,) for x, out in pairs)


def test_a_request_like_the_last_gets_the_same_views_and_another_does_not(
    buffers: shim.Buffers,
) -> None:
    first = buffers.pairs(asked(PAIRS, N), [])
    assert buffers.pairs(asked(PAIRS, N), []) is first
    assert [len(x) for x, _ in buffers.pairs(asked(1, 0), [])] == [0]
    assert len(buffers.pairs(asked(PAIRS, N), [])) == PAIRS
