"""Counts, pace, percentiles, and what attempts cost."""

import numpy as np
import polars as pl
import pytest

from openrebench.analysis.bootstrap import stream
from openrebench.analysis.budgets import estimated
from openrebench.analysis.cost import attempt_costs_usd, cost_frame, mean_calls, mean_costs_usd
from openrebench.analysis.curves import curve
from openrebench.analysis.groups import grouped
from openrebench.analysis.options import Options
from openrebench.analysis.summary import (
    attempt_summary,
    left_out_counts,
    outcome_counts,
    pace,
    percentile_among,
)

ONE = ("prefix_sum",)
FAST = Options(resamples=100)


def test_shares_and_means_are_of_attempts_that_count(make_table) -> None:
    table = make_table(
        {"score": 0.0, "submission": "x"},
        {"score": 0.5, "submission": "y"},
        {"score": 1.0, "submission": "y", "flags": "copied"},
        {"score": 9.0, "left_out": "ended in our error"},
    )
    row = attempt_summary(table).row(0, named=True)
    assert (row["n"], row["left_out"], row["flagged"], row["distinct"]) == (3, 1, 1, 2)
    assert row["mean"] == row["median"] == 0.5 and row["best"] == 1.0
    assert row["share_above_0"] == pytest.approx(2 / 3)
    assert row["share_at_least_1"] == pytest.approx(1 / 3)


def test_everything_left_out_is_counted_by_reason(make_table) -> None:
    table = make_table({}, {"left_out": "over_time"}, {"left_out": "over_time"})
    assert left_out_counts(table).select("left_out", "attempts").rows() == [
        ("", 1),
        ("over_time", 2),
    ]


def test_pace_is_calls_per_working_hour_of_attempts_with_known_calls(make_table) -> None:
    table = make_table(
        {"score_calls": 10, "working_s": 1800.0},
        {"score_calls": 20, "working_s": 3600.0},
        {"score_calls": None},
    )
    row = pace(table).row(0, named=True)
    assert (row["n"], row["calls_per_hour"]) == (2, pytest.approx(20.0))


def test_outcomes_are_counted_by_reason(make_logged) -> None:
    table = make_logged(({}, [(1, 0.1), (2, None), (3, None), (4, 0.2)]))
    rows = outcome_counts(table).select("outcome", "reason", "calls", "share").rows()
    assert rows == [("invalid", "wrong_output", 2, 0.5), ("scored", "", 2, 0.5)]


def test_agent_is_ranked_among_humans_in_each_environment(make_table) -> None:
    humans = [{"kind": "human", "solver": "human", "score": s} for s in (0.0, 0.4, 0.6, 1.0)]
    table = make_table(*humans, {"score": 0.5}, {"score": 0.5})
    human, agent = grouped(table, ONE, FAST)
    found = percentile_among(human, 0, estimated(agent, FAST), 0, stream(0, "t"))
    assert found.value == 50.0
    assert found.low < 50.0 < found.high


def test_cost_is_what_the_record_says_else_tokens_at_their_price(make_table) -> None:
    table = make_table(
        {"cost_usd": 3.0},
        {"model": "m", "input_tokens": 2_000_000, "output_tokens": 100_000},
        {"model": "unpriced", "input_tokens": 5, "output_tokens": 5},
        {"kind": "human"},
    )
    options = Options(token_prices={"m": (1.0, 10.0)}, human_attempt_usd=1855.0)
    costs = attempt_costs_usd(table, options)
    assert costs[:2].tolist() == [3.0, 3.0] and np.isnan(costs[2]) and costs[3] == 1855.0
    assert np.isnan(attempt_costs_usd(table, Options())[1:]).all()


def test_gpu_hours_are_added_only_at_a_price(make_table) -> None:
    table = make_table({"cost_usd": 1.0, "gpu_s": 7200.0})
    assert attempt_costs_usd(table, Options())[0] == 1.0
    assert attempt_costs_usd(table, Options(gpu_hour_usd=2.5))[0] == 6.0


def test_cut_attempt_costs_its_share_and_a_human_the_whole(make_logged) -> None:
    log = [(600, 0.1), (3000, 0.5)]
    human = {"kind": "human", "solver": "human"}
    table = make_logged((human, log), ({"cost_usd": 8.0}, log))
    options = Options(resamples=50, human_attempt_usd=100.0)
    people, agents = grouped(table, ONE, options)
    half = int(np.flatnonzero(agents.lengths_s == 1800.0)[0])
    assert mean_costs_usd(table, agents, options)[half] == pytest.approx(4.0)
    assert mean_costs_usd(table, people, options)[half] == 100.0
    assert mean_calls(table, agents)[[half, -1]].tolist() == [1.0, 2.0]


def test_cost_curve_places_points_by_k_times_the_mean(make_table) -> None:
    table = make_table(
        {"score": 0.2, "cost_usd": 2.0, "score_calls": 4},
        {"score": 0.6, "cost_usd": 4.0, "score_calls": 6},
    )
    found = estimated(grouped(table, ONE, FAST)[0], FAST)
    frame = cost_frame(table, found, curve(found)).filter(pl.col("k") == 2)
    assert frame["cost_usd"][0] == 6.0 and frame["score_calls"][0] == 10.0


def test_one_unknown_cost_leaves_the_mean_unknown(make_table) -> None:
    table = make_table({"cost_usd": 2.0}, {"cost_usd": None})
    found = estimated(grouped(table, ONE, FAST)[0], FAST)
    assert cost_frame(table, found, curve(found))["cost_usd"].null_count() > 0
