"""What a score on a GPU holds at a time, seen on a CPU: no kernel is needed for that."""

import contextlib
import weakref
from collections.abc import Iterator
from types import SimpleNamespace

import pytest

torch = pytest.importorskip("torch")

from openrebench.core.catalog import find_card  # noqa: E402
from openrebench.core.seed import Seed  # noqa: E402
from openrebench.environments.prefix_sum import gpu  # noqa: E402
from openrebench.environments.prefix_sum.hidden.cuda_oracle import prefix_sum  # noqa: E402
from openrebench.isolation.cuda_worker import Go  # noqa: E402

CARD = find_card("prefix_sum")
N = 1000
GB = 1e9


class Worker:
    """Answers rightly, and at once."""

    def load(self, *_: object, **__: object) -> None:
        pass

    def go(self, inputs: list, positions: list) -> Go:
        outputs = [prefix_sum(x) for x in inputs]
        looked = [o[p] for o, p in zip(outputs, positions, strict=True)]
        return Go(1e-3 * len(inputs), 1e-3 * len(inputs), looked, outputs)


@pytest.fixture
def most_alive(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[int]]:
    """Count the timed inputs that are alive whenever one is drawn."""
    alive, counts = weakref.WeakSet(), [0]

    def drawn(*_: object) -> "torch.Tensor":
        x = torch.randint(-10, 10, (N,), dtype=torch.int32)
        alive.add(x)
        counts[0] = max(counts[0], len(alive))
        return x

    monkeypatch.setattr(gpu, "timed_input", drawn)
    monkeypatch.setattr(gpu, "_on_device", torch.from_numpy)
    monkeypatch.setattr(gpu, "trivial_s", lambda *_: 0.0)
    monkeypatch.setattr(gpu, "copy_ms", lambda _: 0.1)
    yield counts


def with_card_of(bytes_: float, monkeypatch: pytest.MonkeyPatch) -> None:
    card = SimpleNamespace(total_memory=int(bytes_))
    monkeypatch.setattr(torch.cuda, "get_device_properties", lambda _: card)


def test_inputs_are_given_back_before_the_next_are_drawn(
    most_alive: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    with_card_of(80 * GB, monkeypatch)
    profile = CARD.profile("gpu")
    profile = profile.model_copy(update={"parameters": profile.parameters | {"n": N}})
    runner = SimpleNamespace(cuda_worker=lambda *_: contextlib.nullcontext(Worker()))
    found = gpu.score_on_gpu(CARD.folder / "agent", runner, profile, Seed.fresh())  # type: ignore[arg-type]
    assert found.raw == 1.0 and not found.flags
    assert most_alive[0] == profile.integer("pairs")


@pytest.mark.parametrize(("memory", "pairs"), [(150 * GB, 32), (80 * GB, 32), (24 * GB, 12)])
def test_a_small_card_gets_fewer_inputs(
    memory: float, pairs: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    with_card_of(memory, monkeypatch)
    assert gpu.fitting_pairs(CARD.profile("gpu")) == pairs
