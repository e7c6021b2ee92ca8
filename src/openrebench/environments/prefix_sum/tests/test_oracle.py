import numpy as np
import pytest

from openrebench.core.seed import Seed
from openrebench.environments.prefix_sum.hidden import oracle
from openrebench.environments.prefix_sum.inputs import correctness_inputs


def by_definition(x: np.ndarray) -> np.ndarray:
    y = np.zeros(len(x), np.int64)
    for i in range(len(x)):
        odd = [np.count_nonzero(x[:j] > 0) % 2 for j in range(i + 1)]
        y[i] = sum(int(x[j]) * odd[j] for j in range(i + 1))
    return y.astype(np.int32)


@pytest.mark.parametrize("n", [0, 1, 2, 3, 7, 64, 65])
def test_oracle_is_the_definition(n: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(oracle, "BLOCK", 8)
    for seed in range(5):
        rng = np.random.default_rng(seed)
        x = rng.integers(-(2**31), 2**31, n, dtype=np.int32)
        assert np.array_equal(oracle.prefix_sum(x), by_definition(x))


def test_zero_is_not_positive_and_the_first_output_is_zero() -> None:
    x = np.array([0, 5, 7, 0, -2, 1, 9], np.int32)
    assert oracle.prefix_sum(x).tolist() == [0, 0, 7, 7, 7, 7, 16]


def test_correctness_inputs_cover_the_edges_and_change_with_the_seed() -> None:
    first, second = (dict(correctness_inputs(Seed.fresh())) for _ in range(2))
    assert {len(x) for x in first.values()} >= {0, 1}
    assert all(x.dtype == np.int32 for x in first.values())
    everything = np.concatenate(list(first.values()))
    assert everything.min() < -(2**30) and everything.max() > 2**30
    wrapped = oracle.prefix_sum(first["all positive"]).astype(np.int64)
    assert (np.diff(wrapped) < 0).any(), "int32 wrap-around must occur"
    assert not np.array_equal(first["all negative"][:50], second["all negative"][:50])
