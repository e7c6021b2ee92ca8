"""The bootstrap against enumeration, and its coverage against known truth."""

from itertools import product

import numpy as np
import pytest

from openrebench.analysis.best_of_k import score_at_k
from openrebench.analysis.bootstrap import Cell, Sample, average, interval, stream


def sample_of(values: np.ndarray, counts: str = "best") -> Sample:
    columns = values[:, None]
    return Sample(
        counts=counts,
        values=columns,
        known=np.ones(columns.shape, dtype=bool),
        strata=np.zeros(len(values), dtype=np.int64),
    )


@pytest.mark.parametrize("estimator", ["plug_in", "unbiased"])
def test_resamples_spread_as_all_resamples_do_around_the_estimate(estimator: str) -> None:
    values = np.array([0.0, 0.3, 1.1, 2.0])
    cell = Cell(0, 2, estimator)
    every = [score_at_k(np.array(drawn), 2, estimator) for drawn in product(values, repeat=4)]
    off = np.mean(every) - score_at_k(values, 2, "plug_in")
    resampled = sample_of(values).resampled([cell], 40_000, stream(0, "t"))[:, 0]
    assert resampled.std() == pytest.approx(np.std(every), abs=0.01)
    if estimator == "plug_in":
        assert resampled.mean() == pytest.approx(np.mean(every), abs=0.01)
    else:  # the mean over all resamples is the plug-in estimate exactly, and is moved
        assert off == pytest.approx(0.0, abs=1e-12)
        assert resampled.mean() == pytest.approx(score_at_k(values, 2), abs=0.01)


def test_estimate_is_the_closed_form() -> None:
    values = np.array([0.4, 0.0, 1.3, 0.2, 0.9])
    cells = [Cell(0, k, "unbiased") for k in range(1, 8)]
    found = sample_of(values).estimate(cells)
    assert found == pytest.approx([score_at_k(values, k) for k in range(1, 8)])


def test_last_answer_sample_gives_the_mean_for_any_k() -> None:
    values = np.array([0.4, 0.0, 1.3])
    found = sample_of(values, "last").estimate([Cell(0, 1), Cell(0, 50, "plug_in")])
    assert found == pytest.approx([values.mean()] * 2)


def test_attempts_stand_in_only_for_those_with_the_same_lengths() -> None:
    values = np.array([[0.0, 0.0], [0.0, 0.0], [5.0, 7.0], [5.0, 7.0]])
    known = np.array([[True, False], [True, False], [True, True], [True, True]])
    sample = Sample(counts="best", values=values, known=known, strata=np.array([0, 0, 1, 1]))
    assert sample.n.tolist() == [4, 2]
    resampled = sample.resampled([Cell(0, 1), Cell(1, 1)], 200, stream(0, "t"))
    assert (resampled[:, 0] == 2.5).all()
    assert (resampled[:, 1] == 7.0).all()


def test_length_without_attempts_has_no_estimate() -> None:
    sample = Sample(
        counts="best",
        values=np.zeros((2, 1)),
        known=np.zeros((2, 1), dtype=bool),
        strata=np.zeros(2, dtype=np.int64),
    )
    assert np.isnan(sample.estimate([Cell(0, 1)])).all()
    assert np.isnan(sample.resampled([Cell(0, 1)], 3, stream(0, "t"))).all()


def test_same_seed_same_resamples_whatever_the_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    sample = sample_of(np.arange(5.0))
    once = sample.resampled([Cell(0, 2)], 100, stream(0, "x"))
    assert np.array_equal(once, sample.resampled([Cell(0, 2)], 100, stream(0, "x")))
    monkeypatch.setattr("openrebench.analysis.bootstrap.CHUNK", 40)
    assert np.array_equal(once, sample.resampled([Cell(0, 2)], 100, stream(0, "x")))
    assert not np.array_equal(once, sample.resampled([Cell(0, 2)], 100, stream(1, "x")))


def test_mean_needs_every_environment_unless_told_otherwise() -> None:
    here, missing = np.array([[1.0, 2.0]]), np.array([[np.nan, 4.0]])
    assert np.isnan(average([here, missing])[0, 0])
    assert average([here, missing])[0, 1] == 3.0
    assert average([here, missing], present_only=True).tolist() == [[1.0, 3.0]]
    assert np.isnan(average([missing, missing], present_only=True)[0, 0])


def test_environments_are_drawn_with_their_own_resample() -> None:
    parts = [np.array([[1.0], [2.0]]), np.array([[10.0], [20.0]])]
    draws = np.array([[0, 0], [0, 1]])
    assert average(parts, environment_draws=draws).tolist() == [[1.0], [11.0]]


def coverage(draw, truth: float, *, n: int, cell: Cell, trials: int = 400) -> tuple[float, float]:
    """Bias of the mean over three environments, and how often the interval holds the truth."""
    rng = np.random.default_rng(5)
    inside, estimates = 0, []
    for trial in range(trials):
        samples = [sample_of(draw(rng, n)) for _ in range(3)]
        estimates.append(np.mean([sample.estimate([cell])[0] for sample in samples]))
        parts = [s.resampled([cell], 300, stream(trial, str(i))) for i, s in enumerate(samples)]
        low, high = interval(average(parts))
        inside += bool(low[0] <= truth <= high[0])
    return float(np.mean(estimates) - truth), inside / trials


def uniform(rng: np.random.Generator, n: int) -> np.ndarray:
    return rng.random(n)


@pytest.mark.parametrize(("k", "least"), [(1, 0.92), (4, 0.91), (8, 0.90)])
def test_unbiased_interval_holds_the_truth_as_often_as_it_says(k: int, least: float) -> None:
    """Uniform scores: the mean best of k is k / (k + 1)."""
    bias, covered = coverage(uniform, k / (k + 1), n=30, cell=Cell(0, k))
    assert bias == pytest.approx(0.0, abs=0.005)
    assert least <= covered <= 0.98


def test_plug_in_interval_lies_too_low_for_large_k() -> None:
    """Why plug-in is not the default: the paper's estimator at k = 8 of n = 30."""
    bias, covered = coverage(uniform, 8 / 9, n=30, cell=Cell(0, 8, "plug_in"))
    assert bias < -0.01
    assert covered < 0.85


def test_plug_in_coverage_of_rare_successes_is_the_documented_one() -> None:
    """10 % of runs score 1, n = 24, k = 16, one environment: 91.5 % in the design."""
    rng = np.random.default_rng(5)
    truth, cell = 1 - 0.9**16, Cell(0, 16, "plug_in")
    inside = 0
    for trial in range(600):
        sample = sample_of((rng.random(24) < 0.1).astype(float))
        low, high = interval(sample.resampled([cell], 300, stream(trial, "t")))
        inside += bool(low[0] <= truth <= high[0])
    assert inside / 600 == pytest.approx(0.915, abs=0.03)
