"""score@k against brute force, and against known truth by simulation."""

from itertools import combinations, product

import numpy as np
import pytest

from openrebench.analysis.best_of_k import (
    plug_in_weights,
    score_at_k,
    unbiased_weights,
    weights,
)

SMALL = [(n, k) for n in range(1, 9) for k in range(1, 9)]


def scores(n: int) -> np.ndarray:
    """Scores with ties, zeros and values above 1."""
    drawn = np.random.default_rng(n).choice([0.0, 0.0, 0.25, 0.5, 1.0, 1.7], n)
    return np.asarray(drawn)


def brute_plug_in(values: np.ndarray, k: int) -> float:
    """Mean best of all n^k ordered draws with replacement; of their counts where n^k is large."""
    n = len(values)
    if n**k <= 50_000:
        return float(np.mean([max(draw) for draw in product(values, repeat=k)]))
    total = 0.0
    for level in np.unique(values):
        at_most, below = (values <= level).sum(), (values < level).sum()
        total += level * (int(at_most) ** k - int(below) ** k)
    return total / n**k


@pytest.mark.parametrize(("n", "k"), SMALL)
def test_plug_in_is_the_mean_best_of_all_draws_with_replacement(n: int, k: int) -> None:
    values = scores(n)
    assert score_at_k(values, k, "plug_in") == pytest.approx(brute_plug_in(values, k), abs=1e-12)


@pytest.mark.parametrize(("n", "k"), [(n, k) for n, k in SMALL if k <= n])
def test_unbiased_is_the_mean_best_of_all_subsets(n: int, k: int) -> None:
    values = scores(n)
    brute = np.mean([max(subset) for subset in combinations(values, k)])
    assert score_at_k(values, k, "unbiased") == pytest.approx(brute, abs=1e-12)


@pytest.mark.parametrize(("n", "k"), [(n, k) for n, k in SMALL if k > n])
def test_unbiased_falls_back_on_plug_in_beyond_n(n: int, k: int) -> None:
    values = scores(n)
    assert score_at_k(values, k, "unbiased") == score_at_k(values, k, "plug_in")
    with pytest.raises(ValueError, match="no unbiased estimate"):
        unbiased_weights(n, k)


@pytest.mark.parametrize(("n", "k"), [(1, 1), (24, 16), (5000, 64), (100_000, 336)])
def test_weights_sum_to_one(n: int, k: int) -> None:
    assert plug_in_weights(n, k).sum() == pytest.approx(1.0)
    assert unbiased_weights(n, k).sum() == pytest.approx(1.0)


def test_last_answer_environments_get_the_plain_mean_for_any_k() -> None:
    values = scores(7)
    for k in (1, 2, 7, 100):
        assert score_at_k(values, k, counts="last") == pytest.approx(values.mean())


@pytest.mark.parametrize("k", [0, -1])
def test_k_below_one_is_refused(k: int) -> None:
    with pytest.raises(ValueError, match="k of at least 1"):
        weights(3, k, "plug_in")


def test_plug_in_bias_is_the_documented_one_and_unbiased_has_none() -> None:
    """10 % of runs score 1: truth of 16 draws 0.815; from 24 runs plug-in expects 0.71."""
    rng = np.random.default_rng(0)
    runs = np.sort((rng.random((20_000, 24)) < 0.1).astype(float), axis=1)
    truth = 1 - 0.9**16
    assert truth == pytest.approx(0.815, abs=0.001)
    assert (runs @ plug_in_weights(24, 16)).mean() == pytest.approx(0.71, abs=0.01)
    assert (runs @ unbiased_weights(24, 16)).mean() == pytest.approx(truth, abs=0.01)
