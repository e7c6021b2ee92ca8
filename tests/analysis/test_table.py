"""What a table refuses, keeps and survives."""

from pathlib import Path

import polars as pl
import pytest

from openrebench.analysis.errors import TableError
from openrebench.analysis.table import (
    concatenate,
    empty,
    from_rows,
    read_parquet,
    write_parquet,
)


def test_duplicate_id_is_refused_in_one_sentence(make_table) -> None:
    with pytest.raises(TableError, match="attempt 'x' is there 2 times; name each folder"):
        make_table({"attempt": "x"}, {"attempt": "x"})


@pytest.mark.parametrize("column", ["budget_s", "working_s", "score", "cost_usd", "wall_s"])
@pytest.mark.parametrize("value", [-1.0, float("nan"), float("inf")])
def test_negative_or_infinite_numbers_of_an_attempt_are_refused(
    make_table, column: str, value: float
) -> None:
    with pytest.raises(TableError, match=f"attempt 'a1': {column} is .*finite"):
        make_table({}, {column: value})


def test_bad_numbers_of_an_entry_name_its_attempt(make_logged) -> None:
    with pytest.raises(TableError, match="attempt 'a1': at_s is -3.0"):
        make_logged(({}, [(1, 0.1)]), ({}, [(-3.0, 0.1)]))
    with pytest.raises(TableError, match="attempt 'a0': raw is nan"):
        make_logged(({"score": 0.0}, [(1.0, float("nan"))]))


def test_scores_below_the_start_are_kept_in_the_log(make_logged) -> None:
    table = make_logged(({}, [(1, -0.7)]))
    assert table.entries["score"].to_list() == [-0.7]


def test_keeping_some_attempts_keeps_their_entries(make_logged) -> None:
    table = make_logged(({}, [(1, 0.1)]), ({}, [(2, 0.2), (3, 0.3)]), ({}, [(4, 0.4)]))
    kept = table.keep(pl.col("attempt").is_in(["a1", "a2"]))
    assert kept.attempts["attempt"].to_list() == ["a1", "a2"]
    assert kept.entries.select("row", "at_s").rows() == [(0, 2.0), (0, 3.0), (1, 4.0)]


def test_joined_tables_keep_entries_with_their_attempts(make_logged) -> None:
    one, two = (
        make_logged(({"attempt": "x"}, [(1, 0.1)])),
        make_logged(({"attempt": "y"}, [(2, 0.2)])),
    )
    joined = concatenate([one, two])
    assert joined.entries.select("row", "at_s").rows() == [(0, 1.0), (1, 2.0)]
    assert len(concatenate([])) == 0 and concatenate([one]) is one
    with pytest.raises(TableError, match="'x' is there 2 times"):
        concatenate([one, one])


def test_table_survives_parquet_and_has_the_same_hash(make_logged, tmp_path: Path) -> None:
    table = make_logged(({"raw": 3.0}, [(1, 0.1), (2, None)]), ({"cost_usd": 2.0}, []))
    write_parquet(table, tmp_path / "t")
    again = read_parquet(tmp_path / "t")
    assert again.attempts.equals(table.attempts) and again.entries.equals(table.entries)
    assert again.sha256() == table.sha256()


def test_hash_sees_every_change(make_logged) -> None:
    base = make_logged(({}, [(1, 0.1), (2, None)]))
    for other in (
        make_logged(({}, [(1, 0.1), (2, 0.0)])),
        make_logged(({}, [(1, 0.1), (2.5, None)])),
        make_logged(({"cost_usd": 0.0}, [(1, 0.1), (2, None)])),
        make_logged(({"flags": "x"}, [(1, 0.1), (2, None)])),
    ):
        assert other.sha256() != base.sha256()
    assert len(empty()) == 0 and empty().sha256() == empty().sha256()


def test_broken_parquet_folder_is_refused_in_one_sentence(make_table, tmp_path: Path) -> None:
    write_parquet(make_table({}), tmp_path)
    path = tmp_path / "attempts.parquet"
    pl.read_parquet(path).drop("score").write_parquet(path)
    with pytest.raises(TableError, match="has no column 'score'; write the table again"):
        read_parquet(tmp_path)
    pl.DataFrame({name: ["x"] for name in from_rows([]).attempts.columns}).write_parquet(path)
    with pytest.raises(TableError, match="a column has the wrong type"):
        read_parquet(tmp_path)
    path.write_bytes(b"no parquet")
    with pytest.raises(TableError, match="can't be read as a Parquet table"):
        read_parquet(tmp_path)
