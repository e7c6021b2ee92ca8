"""How much results hang on a choice or a single attempt."""

import pytest

from openrebench.analysis.bootstrap import Cell
from openrebench.analysis.budgets import estimated
from openrebench.analysis.groups import grouped
from openrebench.analysis.marks import prepared
from openrebench.analysis.options import Options
from openrebench.analysis.robustness import flag_treatments, influence, sensitivity

ONE = ("prefix_sum",)
TWO = ("prefix_sum", "fix_embedding")
FAST = Options(resamples=50)


def test_three_treatments_of_a_flagged_attempt(make_table) -> None:
    table = make_table({"score": 0.2}, {"score": 0.4}, {"score": 0.9, "flags": "copied"})
    rows = flag_treatments(table, ONE, FAST)
    found = dict(rows.select("treatment", "score").rows())
    assert found == pytest.approx({"failure": 0.2, "drop": 0.3, "as_scored": 0.5})
    assert dict(rows.select("treatment", "n").rows()) == {"failure": 3, "drop": 2, "as_scored": 3}
    assert rows.filter(treatment="failure")["flagged"][0] == 1


def test_influence_names_the_attempt_that_a_score_hangs_on(make_table) -> None:
    table = make_table({"score": 0.0}, {"score": 0.2}, {"score": 1.0, "attempt": "lucky"})
    table = prepared(table, FAST)
    row = influence(table, estimated(grouped(table, ONE, FAST)[0], FAST)).row(0, named=True)
    assert row["attempt"] == "lucky" and row["attempt_score"] == 1.0
    assert (row["score"], row["without"]) == pytest.approx((0.4, 0.1))


def test_influence_is_shared_by_the_environments_of_a_mean(make_table) -> None:
    other = {"environment": "fix_embedding"}
    table = make_table(
        {"score": 0.0}, {"score": 1.0}, {"score": 0.5, **other}, {"score": 0.5, **other}
    )
    row = influence(table, estimated(grouped(table, TWO, FAST)[0], FAST)).row(0, named=True)
    assert row["environment"] == "prefix_sum"
    assert (row["score"], row["without"]) == pytest.approx((0.5, 0.25))


def test_single_attempt_has_no_influence_to_speak_of(make_table) -> None:
    table = make_table({"score": 0.7})
    row = influence(table, estimated(grouped(table, ONE, FAST)[0], FAST)).row(0, named=True)
    assert row["score"] == row["without"] == 0.7


def test_other_normalisations_are_recomputed_from_attempts(make_table) -> None:
    human = {"kind": "human", "solver": "human", "anchor_spread": 0.1}
    agent = {"anchor_spread": 0.1}
    table = make_table(
        {"score": 0.5, **human},
        {"score": 1.5, **human},
        {"score": 0.0, **agent},
        {"score": 0.6, **agent},
    )
    groups = grouped(table, ONE, FAST)
    rows = sensitivity(table, groups, [Cell(0, 1)] * 2).filter(solver="agent")
    found = dict(rows.select("normalisation", "score").rows())
    assert found["as is"] == pytest.approx(0.3) and found["capped at 1"] == pytest.approx(0.3)
    assert found["human = 1"] == pytest.approx(0.3)
    assert found["rank"] == pytest.approx((0 + 2 / 4) / 2)
    assert found["anchors off, start better"] == pytest.approx((0.6 - 0.1) / 0.8 / 2)
    assert found["anchors off, start worse"] == pytest.approx((0.6 + 0.1) / 1.2 / 2)


def test_normalisations_that_need_what_is_not_there_are_empty(make_table) -> None:
    table = make_table({"score": 0.5})
    rows = sensitivity(table, grouped(table, ONE, FAST), [Cell(0, 1)])
    found = dict(rows.select("normalisation", "score").rows())
    assert found["human = 1"] is None and found["anchors off, start worse"] is None
    nobody = make_table({"score": 0.0, "kind": "human"})
    rows = sensitivity(nobody, grouped(nobody, ONE, FAST), [Cell(0, 1)])
    assert dict(rows.select("normalisation", "score").rows())["human = 1"] is None
