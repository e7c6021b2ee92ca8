"""Allocations of budgets, curves over them, and means over environments."""

import numpy as np
import polars as pl
import pytest

from openrebench.analysis.best_of_k import score_at_k
from openrebench.analysis.bootstrap import Cell
from openrebench.analysis.budgets import (
    Allocation,
    allocation_frame,
    allocations,
    estimated,
)
from openrebench.analysis.curves import area_under, curve, curve_frame, rule_of
from openrebench.analysis.groups import grouped
from openrebench.analysis.options import HOUR_S, Options

FAST = Options(resamples=200)
ONE = ("prefix_sum",)
TWO = ("prefix_sum", "fix_embedding")


def scored(*scores: float, **changes: object) -> list[dict[str, object]]:
    return [{"score": score, **changes} for score in scores]


def test_every_split_of_a_budget_is_listed(make_table) -> None:
    table = make_table(
        *scored(0.1, 0.2, budget_s=1800.0, length_s=1800.0),
        *scored(0.3, budget_s=7200.0, length_s=7200.0),
    )
    group = grouped(table, ONE, FAST)[0]
    found = {(a.budget_s / HOUR_S, a.length_s / HOUR_S, a.cell.k) for a in allocations(group)}
    assert {(0.5, 0.5, 1), (2.0, 0.5, 4), (2.0, 2.0, 1), (8.0, 2.0, 4), (168.0, 0.5, 336)} <= found
    assert all(k == int(budget / length) for budget, length, k in found)
    assert (1.0, 2.0, 0) not in found


def test_any_length_works_and_what_a_budget_does_not_fill_stays_unused(make_table) -> None:
    table = make_table(*scored(0.1, 0.4, budget_s=2700.0, length_s=2700.0))
    frame = allocation_frame(estimated(grouped(table, ONE, FAST)[0], FAST))
    assert frame.filter(pl.col("budget_h") == 1.0)["k"].to_list() == [1]
    assert frame.filter(pl.col("budget_h") == 2.0)["k"].to_list() == [2]


def test_mean_weighs_environments_the_same_whatever_their_n(make_table) -> None:
    table = make_table(*scored(0.0, 0.2, 0.4, 0.6), *scored(1.0, 2.0, environment="fix_embedding"))
    found = estimated(grouped(table, TWO, FAST)[0], FAST)
    frame = allocation_frame(found).filter(pl.col("budget_h") == 2.0)
    expected = np.mean([score_at_k(np.array([0.0, 0.2, 0.4, 0.6]), 2), 2.0])
    assert frame["score"][0] == pytest.approx(expected)
    assert (frame["n"][0], frame["n_least"][0], frame["environments"][0]) == (6, 2, 2)


def test_both_estimators_stand_side_by_side_and_unbiased_is_empty_beyond_n(make_table) -> None:
    scores = np.array([0.0, 0.5, 0.9])
    frame = allocation_frame(estimated(grouped(make_table(*scored(*scores)), ONE, FAST)[0], FAST))
    two = frame.row(by_predicate=pl.col("k") == 2, named=True)
    assert two["score"] == two["unbiased"] == pytest.approx(score_at_k(scores, 2))
    assert two["plug_in"] == pytest.approx(score_at_k(scores, 2, "plug_in"))
    assert not two["resampled"] and two["n_effective"] == 1.5
    four = frame.row(by_predicate=pl.col("k") == 4, named=True)
    assert four["unbiased"] is None and four["resampled"]
    assert four["score"] == four["plug_in"] == pytest.approx(score_at_k(scores, 4, "plug_in"))


def test_one_short_environment_makes_the_whole_mean_plug_in(make_table) -> None:
    many = np.array([0.0, 0.2, 0.4, 0.6])
    table = make_table(*scored(*many), *scored(1.0, environment="fix_embedding"))
    found = estimated(grouped(table, TWO, FAST)[0], FAST)
    frame = allocation_frame(found).filter(pl.col("budget_h") == 2.0)
    assert frame["score"][0] == pytest.approx((score_at_k(many, 2, "plug_in") + 1) / 2)
    assert frame["resampled"][0]


def test_no_mean_where_an_environment_has_no_attempt(make_table) -> None:
    group = grouped(make_table(*scored(0.5, 0.7)), TWO, FAST)[0]
    found = estimated(group, FAST)
    assert np.isnan(found.values).all() and len(found.budgets_s) == 0
    assert allocation_frame(found).height == 0 and group.missing(0) == ["fix_embedding"]
    drawn = curve(found)
    assert drawn.chosen == () and curve_frame(found, drawn).height == 0


def test_mean_over_those_present_is_there_on_request(make_table) -> None:
    options = Options(resamples=50, present_only=True)
    found = estimated(grouped(make_table(*scored(0.5, 0.7)), TWO, options)[0], options)
    frame = allocation_frame(found)
    assert frame["score"][0] == pytest.approx(0.6) and frame["environments"][0] == 1


def test_left_out_attempts_count_for_nothing(make_table) -> None:
    table = make_table(*scored(0.5), *scored(0.9, left_out="ended in our error"))
    assert grouped(table, ONE, FAST)[0].n().tolist() == [[1]]


def test_logs_inform_shorter_budgets_and_can_be_told_not_to(make_logged) -> None:
    log = [(600, 0.2), (3000, 0.8)]
    table = make_logged(({}, log), ({}, log))
    lengths = grouped(table, ONE, FAST)[0].lengths_s / HOUR_S
    assert lengths.tolist() == pytest.approx([1 / 30, 4 / 60, 8 / 60, 0.25, 0.5, 1.0])
    found = estimated(grouped(table, ONE, FAST)[0], FAST)
    frame = allocation_frame(found)
    half = frame.row(by_predicate=(pl.col("length_h") == 0.5) & (pl.col("k") == 2), named=True)
    assert half["score"] == pytest.approx(0.2) and not half["as_run"]
    options = Options(resamples=50, truncate=False)
    assert grouped(table, ONE, options)[0].lengths_s.tolist() == [HOUR_S]
    shorter = make_logged(({}, log), ({"length_s": 1800.0, "budget_s": 1800.0}, log[:1]))
    assert grouped(shorter, ONE, options)[0].n().tolist() == [[1, 1]]


def test_best_allocation_prefers_those_that_draw_no_attempt_twice(make_table) -> None:
    short = scored(0.0, 0.0, 0.9, budget_s=1800.0, length_s=1800.0)
    table = make_table(*short, *scored(0.5, 0.5, budget_s=7200.0, length_s=7200.0))
    found = estimated(grouped(table, ONE, FAST)[0], FAST)
    assert found.allocations[found.best_at(7200.0)].cell.k == 1
    plug_in = Options(resamples=50, estimator="plug_in")
    again = estimated(grouped(table, ONE, plug_in)[0], plug_in)
    assert again.allocations[again.best_at(7200.0)].cell.k == 4


def test_unbiased_curve_never_falls_while_no_attempt_is_drawn_twice(make_table) -> None:
    rng = np.random.default_rng(0)
    rows = scored(*rng.random(8) * 2, budget_s=1800.0, length_s=1800.0)
    rows += scored(*rng.random(8), budget_s=7200.0, length_s=7200.0)
    found = estimated(grouped(make_table(*rows), ONE, FAST)[0], FAST)
    frame = curve_frame(found, curve(found)).filter(~pl.col("resampled"))
    assert frame.height >= 5 and frame["score"].is_sorted()


def test_humans_work_on_one_attempt_as_long_as_they_can(make_logged) -> None:
    log = [(3600, 0.2), (7200 * 3, 0.8)]
    eight = {"kind": "human", "budget_s": 28800.0, "length_s": 28800.0}
    found = estimated(grouped(make_logged((eight, log), (eight, log)), ONE, FAST)[0], FAST)
    assert rule_of(found) == "longest"
    frame = curve_frame(found, curve(found))
    below = frame.filter(pl.col("budget_h") <= 8)
    assert (below["k"] == 1).all() and (below["length_h"] == below["budget_h"]).all()
    assert frame.filter(pl.col("budget_h") == 16.0)["k"].to_list() == [2]


def test_curve_of_a_fixed_length_uses_no_other(make_table) -> None:
    rows = scored(0.9, 0.9, budget_s=1800.0, length_s=1800.0)
    rows += scored(0.1, 0.3, budget_s=7200.0, length_s=7200.0)
    found = estimated(grouped(make_table(*rows), ONE, FAST)[0], FAST)
    frame = curve_frame(found, curve(found, length_s=7200.0))
    assert (frame["length_h"] == 2.0).all() and frame["budget_h"].min() == 2.0


def test_chosen_allocations_only_are_estimated(make_table) -> None:
    table = make_table(*scored(0.1, 0.2))
    only = [Allocation(HOUR_S, HOUR_S, Cell(0, 1))]
    assert len(estimated(grouped(table, ONE, FAST)[0], FAST, only).allocations) == 1


def test_resampling_environments_widens_the_interval(make_table) -> None:
    table = make_table(*scored(0.0, 0.1, 0.2), *scored(1.8, 1.9, 2.0, environment="fix_embedding"))
    widths = []
    for both in (False, True):
        options = Options(resamples=500, resample_environments=both)
        row = allocation_frame(estimated(grouped(table, TWO, options)[0], options)).row(
            0, named=True
        )
        widths.append(row["high"] - row["low"])
    assert widths[1] > 3 * widths[0]


def test_adding_a_solver_changes_no_other_interval(make_table) -> None:
    first = make_table(*scored(0.1, 0.5, 0.9))
    both = make_table(*scored(0.1, 0.5, 0.9), *scored(0.3, 0.4, solver="another"))
    alone = estimated(grouped(first, ONE, FAST)[0], FAST)
    with_it = next(estimated(g, FAST) for g in grouped(both, ONE, FAST) if g.solver == "agent")
    assert np.array_equal(alone.resampled, with_it.resampled)


def test_area_of_a_constant_curve_is_its_height(make_table) -> None:
    found = estimated(grouped(make_table(*scored(0.4, 0.4, 0.4)), ONE, FAST)[0], FAST)
    drawn = curve(found)
    area = area_under(drawn, HOUR_S, 4 * HOUR_S)
    assert area is not None
    assert (area.value, area.low, area.high) == pytest.approx((0.4, 0.4, 0.4))
    assert (area.from_h, area.to_h) == (1.0, 4.0)
    assert area_under(drawn, 0.5 * HOUR_S, 4 * HOUR_S) is None
    assert area_under(drawn, HOUR_S, HOUR_S) is None
    assert area_under(drawn, HOUR_S, 500 * HOUR_S) is None
