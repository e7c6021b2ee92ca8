"""Where humans pass agents."""

import numpy as np
import pytest

from openrebench.analysis.crossover import crossings, crossover
from openrebench.analysis.curves import Curve
from openrebench.analysis.options import HOUR_S


def line(hours: list[float], values: list[float], noise: float = 0.0) -> Curve:
    drawn = np.random.default_rng(0).normal(0, noise, (500, 1)) + np.array(values)
    return Curve(np.array(hours) * HOUR_S, np.array(values), drawn, tuple(range(len(hours))))


def test_crossing_is_where_straight_lines_in_log_budget_meet() -> None:
    found = crossover(line([1, 4], [0.0, 1.0]), line([1, 4], [0.5, 0.5]))
    assert found.budget_h == pytest.approx(2.0)
    assert (found.from_h, found.to_h) == pytest.approx((1.0, 4.0))
    assert "humans ahead from 2 h on" in found.verdict


def test_interval_follows_the_resamples() -> None:
    found = crossover(line([1, 2, 4], [0.0, 0.5, 1.0], noise=0.1), line([1, 2, 4], [0.5] * 3))
    assert found.budget_h is not None
    assert 1.0 < found.low_h < found.budget_h < found.high_h < 4.0


def test_last_of_several_crossings_counts() -> None:
    difference = np.array([[-1.0, 1.0, -1.0, 1.0]])
    assert crossings(difference, np.arange(4.0))[0] == pytest.approx(2.5)


@pytest.mark.parametrize(
    ("human", "verdict", "bounds"),
    [
        ([1.0, 2.0], "humans ahead at every budget", (0.0, 0.0)),
        ([0.1, 0.2], "the agent not behind", (np.inf, np.inf)),
    ],
)
def test_none_in_range_is_a_legal_answer(human, verdict: str, bounds) -> None:
    found = crossover(line([1, 4], human), line([1, 4], [0.5, 0.5]))
    assert found.budget_h is None and verdict in found.verdict
    assert (found.low_h, found.high_h) == bounds


def test_curves_without_two_budgets_in_common_say_so() -> None:
    found = crossover(line([8, 16], [0.5, 1.0]), line([1, 8], [0.1, 0.2]))
    assert found.budget_h is None and "fewer than two budgets in common" in found.verdict
