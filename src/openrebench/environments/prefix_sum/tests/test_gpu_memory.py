"""What a score on a GPU holds at a time, seen on a CPU: no kernel is needed for that."""

import contextlib
from types import SimpleNamespace

import pytest

torch = pytest.importorskip("torch")

from openrebench.core.catalog import find_card  # noqa: E402
from openrebench.core.seed import Seed  # noqa: E402
from openrebench.environments.prefix_sum import gpu  # noqa: E402
from openrebench.environments.prefix_sum.hidden.cuda_oracle import prefix_sum  # noqa: E402
from openrebench.isolation.cuda_worker import Go  # noqa: E402

CARD = find_card("prefix_sum")
N = 1001
GB = 1e9


class Worker:
    """Answers rightly, and at once; notes where timed inputs lay."""

    def __init__(self) -> None:
        self.places: set[int] = set()

    def load(self, *_: object) -> None:
        pass

    def go(self, inputs: "torch.Tensor", positions: "torch.Tensor") -> Go:
        if inputs.shape[1] == N:
            self.places.add(inputs.data_ptr())
        outputs = torch.stack([prefix_sum(x) for x in inputs])
        seconds = 1e-3 * len(inputs)
        return Go(seconds, seconds, outputs.gather(1, positions), outputs)


def with_card_of(bytes_: float, monkeypatch: pytest.MonkeyPatch) -> None:
    card = SimpleNamespace(total_memory=int(bytes_))
    monkeypatch.setattr(torch.cuda, "get_device_properties", lambda _: card)


def test_the_inputs_of_all_goes_take_one_place(monkeypatch: pytest.MonkeyPatch) -> None:
    with_card_of(80 * GB, monkeypatch)
    monkeypatch.setattr(gpu, "trivial_s", lambda *_: 0.0)
    monkeypatch.setattr(gpu, "Buffers", lambda *_: SimpleNamespace(close=lambda: None))
    monkeypatch.setattr(gpu, "copy_ms", lambda _: 0.1)
    profile, worker = CARD.profile("gpu"), Worker()
    changed = {"device": "cpu", "parameters": profile.parameters | {"n": N}}
    profile = profile.model_copy(update=changed)
    runner = SimpleNamespace(cuda_worker=lambda *_, **__: contextlib.nullcontext(worker))
    found = gpu.score_on_gpu(CARD.folder / "agent", runner, profile, Seed.fresh())  # type: ignore[arg-type]
    assert found.raw == 1.0 and not found.flags
    assert len(worker.places) == 1


@pytest.mark.parametrize(("memory", "pairs"), [(150 * GB, 32), (80 * GB, 32), (24 * GB, 12)])
def test_a_small_card_gets_fewer_inputs(
    memory: float, pairs: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    with_card_of(memory, monkeypatch)
    assert gpu.fitting_pairs(CARD.profile("gpu")) == pairs
