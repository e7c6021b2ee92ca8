"""What counts: marks, selections, flags, official scores, and what may share an axis."""

import polars as pl
import pytest

from openrebench.analysis.errors import NotComparable, TableError
from openrebench.analysis.marks import prepared, require_one_class
from openrebench.analysis.options import Options

HUMAN = {"kind": "human", "source": "metr"}


def test_doubtful_imported_attempts_are_marked_and_left_out_but_stay(make_table) -> None:
    table = make_table(
        {**HUMAN, "working_s": 10 * 3600.0},
        {**HUMAN, "working_s": 8 * 3600.0, "score": 7.8},
        {**HUMAN, "working_s": 4 * 3600.0},
        {"source": "metr", "score": 4.1},
        {**HUMAN, "working_s": 8 * 3600.0},
    )
    found = prepared(table, Options()).attempts
    assert found["marks"].to_list() == ["over_time", "implausible", "short", "implausible", ""]
    assert found["left_out"].to_list() == ["over_time", "implausible", "", "implausible", ""]
    kept = prepared(table, Options(keep_marked=True)).attempts
    assert (kept["left_out"] == "").all() and kept["marks"].to_list() == found["marks"].to_list()


def test_own_attempts_are_never_called_implausible(make_table) -> None:
    assert prepared(make_table({"score": 9.0}), Options()).attempts["marks"].to_list() == [""]


def test_marks_add_to_those_an_importer_gave(make_table) -> None:
    table = make_table({**HUMAN, "working_s": 1.0, "marks": "clipped"})
    assert prepared(table, Options()).attempts["marks"].to_list() == ["clipped; short"]


def test_first_reason_for_leaving_out_stays(make_table) -> None:
    table = make_table({**HUMAN, "working_s": 1e6, "left_out": "ended in our error"})
    assert prepared(table, Options()).attempts["left_out"].to_list() == ["ended in our error"]


def test_flagged_attempt_is_a_failure_by_default(make_logged) -> None:
    log = [(1, 0.4), (2, 0.8)]
    table = make_logged(({"flags": "copied", "official": 0.7}, log), ({}, log))
    failed = prepared(table, Options())
    assert failed.attempts["score"].to_list() == [0.0, 0.8]
    assert failed.attempts["official"].to_list() == [0.0, None]
    assert failed.entries["score"].to_list() == [None, None, 0.4, 0.8]
    dropped = prepared(table, Options(flagged="drop"))
    assert dropped.attempts["left_out"].to_list() == ["flagged", ""]
    assert prepared(table, Options(flagged="as_scored")).attempts["score"].to_list() == [0.8, 0.8]


def test_official_scores_replace_in_run_ones_and_others_are_left_out(make_logged) -> None:
    table = make_logged(({"official": 0.3}, [(1, 0.8)]), ({}, [(1, 0.9)]))
    found = prepared(table, Options(official=True)).attempts
    assert found["score"].to_list() == [0.3, None]
    assert found["left_out"].to_list() == ["", "never scored again"]
    assert not found["has_log"].any()


def test_selection_leaves_out_and_says_so(make_table) -> None:
    table = make_table({"version": "1.0.0"}, {"version": "2.0.0"})
    found = prepared(table, Options(where={"version": "2.0.0"})).attempts
    assert found["left_out"].to_list() == ["not version=2.0.0", ""]


def test_selection_by_what_is_not_there_is_refused(make_table) -> None:
    with pytest.raises(TableError, match="no column 'colour' to select by; one of: attempt, "):
        prepared(make_table({}), Options(where={"colour": "red"}))
    with pytest.raises(TableError, match="no attempt has version '9'; there is: 1.0.0"):
        prepared(make_table({}), Options(where={"version": "9"}))


@pytest.mark.parametrize(
    "column", ["version", "profile", "anchors", "isolation", "stand_in", "budget_rule"]
)
def test_attempts_that_differ_in_kind_may_not_share_an_axis(make_table, column: str) -> None:
    table = make_table({column: "one"}, {column: "two"})
    with pytest.raises(NotComparable, match=f"differ in {column} .*--where {column}=one"):
        require_one_class(table, "prefix_sum")
    chosen = prepared(table, Options(where={column: "two"}))
    require_one_class(chosen, "prefix_sum")
    require_one_class(table.keep(pl.col("attempt") == "a0"), "prefix_sum")
    require_one_class(table, "another")
