"""Attempts from a plain CSV."""

from pathlib import Path

import pytest

from openrebench.analysis.errors import TableError
from openrebench.analysis.importers.csv_table import export_csv, import_csv

HEAD = "attempt,environment,solver,hours,score"


def write(path: Path, *lines: str) -> Path:
    file = path / "attempts.csv"
    file.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return file


def test_one_row_for_each_attempt(tmp_path: Path) -> None:
    file = write(
        tmp_path,
        HEAD + ",kind,mood",
        "a,triton_cumsum,me,8,0.5,human,good",
        "b,mine,bot,0.5,-1,agent,bad",
    )
    found = import_csv(file)
    one, two = found.attempts.attempts.iter_rows(named=True)
    assert (one["environment"], one["kind"], one["length_s"], one["score"]) == (
        "prefix_sum",
        "human",
        28800.0,
        0.5,
    )
    assert (two["environment"], two["score"], two["profile"]) == ("mine", 0.0, "full")
    assert found.notes == ("columns not read: mood",)


def test_rows_with_times_are_a_score_log(tmp_path: Path) -> None:
    lines = [
        HEAD + ",at_hours,cost_usd",
        "a,fix_embedding,bot,2,0.6,1.5,3",
        "a,fix_embedding,bot,2,0.2,0.5,3",
    ]
    found = import_csv(write(tmp_path, *lines)).attempts
    assert found.entries["at_s"].to_list() == [1800.0, 5400.0]
    assert found.attempts["score"].to_list() == [0.6] and found.attempts["cost_usd"].to_list() == [
        3.0
    ]
    assert found.attempts["score_calls"].to_list() == [2]


def test_last_answer_counts_for_scaling_law(tmp_path: Path) -> None:
    lines = [HEAD + ",at_hours", "a,scaling_law,bot,2,0.6,0.5", "a,scaling_law,bot,2,0.2,1.5"]
    assert import_csv(write(tmp_path, *lines)).attempts.attempts["score"].to_list() == [0.2]


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        (["attempt,environment,solver,hours"], "has no column 'score'; it has: attempt"),
        ([HEAD], "has no rows"),
        ([HEAD, "a,e,s,8,much"], "row 1: score is 'much'; it must be a number"),
        ([HEAD, "a,e,s,8,"], "row 1: score is None; it must be a finite number"),
        ([HEAD, "a,e,s,8,NaN"], "row 1: score is nan; it must be a finite number"),
        (
            [HEAD, "a,e,s,8,0.1", "b,e,s,-2,0.1"],
            "row 2: hours is -2.0; it must be a finite number, not below 0",
        ),
        ([HEAD + ",at_hours", "a,e,s,8,0.1,-1"], "at_hours is -1.0"),
        ([HEAD, ",e,s,8,0.1"], "row 1: attempt is None; it must be there"),
        ([HEAD, "a,e,s,8,0.1", "a,e,s,8,0.2"], "rows 1 and 2 have the same attempt 'a'"),
        ([HEAD + ",kind", "a,e,s,8,0.1,robot"], "kind is 'robot'; it must be 'agent' or 'human'"),
        (
            [HEAD + ",at_hours", "a,e,s,8,0.1,1", "a,e,s,9,0.2,2"],
            "attempt 'a' has more than one hours",
        ),
        ([HEAD, "a,e,s,8,0.1,extra,more"], "can't be read as CSV"),
    ],
)
def test_broken_csv_is_refused_in_one_sentence(
    tmp_path: Path, lines: list[str], message: str
) -> None:
    with pytest.raises(TableError) as caught:
        import_csv(write(tmp_path, *lines))
    assert message in str(caught.value) and "\n" not in str(caught.value)
    assert "attempts.csv" in str(caught.value)


def test_missing_file_is_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(TableError, match="can't be read as CSV"):
        import_csv(tmp_path / "nowhere.csv")


def test_exported_csv_is_read_again(make_table, tmp_path: Path) -> None:
    table = make_table({"score": 0.25, "cost_usd": 2.0}, {"kind": "human"})
    export_csv(table, tmp_path / "out.csv")
    again = import_csv(tmp_path / "out.csv").attempts.attempts
    columns = [
        "attempt",
        "environment",
        "solver",
        "length_s",
        "score",
        "kind",
        "profile",
        "cost_usd",
    ]
    assert again.select(columns).equals(table.attempts.select(columns))
