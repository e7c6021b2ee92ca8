"""What a score on a GPU says and holds at a time, seen on a CPU: no kernel is needed for that."""

import contextlib
import math
from types import SimpleNamespace

import pytest

torch = pytest.importorskip("torch")

from openrebench.core.catalog import find_card  # noqa: E402
from openrebench.core.environment import Measurement  # noqa: E402
from openrebench.core.seed import Seed  # noqa: E402
from openrebench.environments.prefix_sum import gpu  # noqa: E402
from openrebench.environments.prefix_sum.hidden.cuda_oracle import prefix_sum  # noqa: E402
from openrebench.errors import InvalidSubmission, Reason  # noqa: E402
from openrebench.isolation.cuda_worker import Go  # noqa: E402

CARD = find_card("prefix_sum")
N = 1001
GB = 1e9


class Worker:
    """Answers at once, in 1 ms a call; notes where timed inputs lay.

    Args:
        events_ms: What it says of its calls.
        late: Writes its outputs only after they were looked at.
        wrong: Leaves out the last element of a timed input.
    """

    def __init__(self, *, events_ms: float = 1.0, late: bool = False, wrong: bool = False) -> None:
        self.events_ms, self.late, self.wrong = events_ms, late, wrong
        self.places: set[int] = set()

    def load(self, *_: object) -> None:
        pass

    def go(self, inputs: "torch.Tensor", positions: "torch.Tensor") -> Go:
        outputs = torch.stack([prefix_sum(x) for x in inputs])
        looked = outputs.gather(1, positions)
        if inputs.shape[1] == N:
            self.places.add(inputs.data_ptr())
            outputs[:, -1] += self.wrong
            looked += self.late
        return Go(1e-3 * len(inputs), self.events_ms * 1e-3 * len(inputs), looked, outputs)


def with_card_of(bytes_: float, monkeypatch: pytest.MonkeyPatch) -> None:
    card = SimpleNamespace(total_memory=int(bytes_))
    monkeypatch.setattr(torch.cuda, "get_device_properties", lambda _: card)


def scored(monkeypatch: pytest.MonkeyPatch, worker: Worker, floor_ms: float = 0.1) -> Measurement:
    """Score what a worker does, where a copy of an input takes so long."""
    with_card_of(80 * GB, monkeypatch)
    monkeypatch.setattr(gpu, "trivial_s", lambda *_: 0.0)
    monkeypatch.setattr(gpu, "Buffers", lambda *_: SimpleNamespace(close=lambda: None))
    monkeypatch.setattr(gpu, "copy_ms", lambda _: floor_ms)
    profile = CARD.profile("gpu")
    changed = {"device": "cpu", "parameters": profile.parameters | {"n": N}}
    profile = profile.model_copy(update=changed)
    runner = SimpleNamespace(cuda_worker=lambda *_, **__: contextlib.nullcontext(worker))
    return gpu.score_on_gpu(CARD.folder / "agent", runner, profile, Seed.fresh())  # type: ignore[arg-type]


def test_the_inputs_of_all_goes_take_one_place(monkeypatch: pytest.MonkeyPatch) -> None:
    worker = Worker()
    found = scored(monkeypatch, worker)
    assert found.raw == 1.0 and not found.flags
    assert len(worker.places) == 1


@pytest.mark.parametrize(
    ("events_ms", "floor_ms", "flag"),
    [(1.0, 1.02, "physics:"), (0.9, 0.1, "events:"), (math.nan, 0.1, "events:")],
)
def test_what_a_person_should_look_at_is_flagged(
    events_ms: float, floor_ms: float, flag: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = scored(monkeypatch, Worker(events_ms=events_ms), floor_ms)
    assert [f.split()[0] for f in found.flags] == [flag]


@pytest.mark.parametrize(
    ("worker", "floor_ms", "reason", "said"),
    [
        (
            Worker(),
            1.04,
            Reason.IMPOSSIBLE,
            r"1.0 ms is less than copying .* takes here \(1.04 ms\)",
        ),
        (Worker(late=True), 0.1, Reason.WRONG_OUTPUT, "returned before its output was written"),
        (Worker(wrong=True), 0.1, Reason.WRONG_OUTPUT, f"wrong at 1 of {N} positions .go 1."),
    ],
    ids=["too fast", "late", "wrong"],
)
def test_what_can_not_be_is_invalid(
    worker: Worker, floor_ms: float, reason: Reason, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(InvalidSubmission, match=said) as refused:
        scored(monkeypatch, worker, floor_ms)
    assert refused.value.reason is reason


@pytest.mark.parametrize(("memory", "pairs"), [(150 * GB, 32), (80 * GB, 32), (24 * GB, 12)])
def test_a_small_card_gets_fewer_inputs(
    memory: float, pairs: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    with_card_of(memory, monkeypatch)
    assert gpu.fitting_pairs(CARD.profile("gpu")) == pairs
