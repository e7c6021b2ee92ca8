"""METR's tables of runs, both ways."""

import json
from pathlib import Path

import pytest

from openrebench.analysis.errors import TableError
from openrebench.analysis.importers.metr import import_metr
from openrebench.analysis.importers.metr_export import export_metr
from openrebench.analysis.marks import prepared
from openrebench.analysis.options import Options

RUN = {
    "run_id": "r1",
    "task_id": "ai_rd_fix_embedding/main",
    "score": 0.4,
    "time_limit": 1800,
    "started_at": 1_000_000,
    "completed_at": 2_900_000,
    "alias": "agent",
    "model": "m",
    "fatal_error_from": "usageLimits",
}
HUMAN = RUN | {
    "run_id": "h1",
    "alias": "human",
    "time_limit": 0,
    "started_at": 0,
    "completed_at": 28_740_000,
    "fatal_error_from": None,
}
LATER = {k: v for k, v in RUN.items() if k not in ("score", "time_limit")} | {
    "score_cont": 1.0,
    "score_binarized": 1,
    "task_source": "RE-Bench",
    "generation_cost": 12.5,
    "tokens_count": 1000,
}


def write(path: Path, *rows: object) -> Path:
    file = path / "runs.jsonl"
    lines = [row if isinstance(row, str) else json.dumps(row) for row in rows]
    file.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return file


def test_agents_have_their_time_limit_and_humans_eight_hours(tmp_path: Path) -> None:
    found = import_metr(write(tmp_path, RUN, HUMAN))
    agent, human = found.attempts.attempts.iter_rows(named=True)
    assert (agent["environment"], agent["length_s"], agent["working_s"]) == (
        "fix_embedding",
        1800.0,
        1800.0,
    )
    assert (human["solver"], human["length_s"], human["working_s"]) == (
        "human experts",
        28800.0,
        28740.0,
    )
    assert agent["source"] == "metr" and not agent["has_log"] and found.notes == ()


def test_scores_below_the_start_count_as_zero_and_have_no_cap(tmp_path: Path) -> None:
    rows = [RUN | {"score": -0.3}, RUN | {"run_id": "r2", "score": 1.9}]
    assert import_metr(write(tmp_path, *rows)).attempts.attempts["score"].to_list() == [0.0, 1.9]


def test_later_shape_is_read_with_a_budget_and_marked_where_clipped(tmp_path: Path) -> None:
    other = LATER | {"run_id": "r2", "task_id": "hcast_thing/1"}
    file = write(tmp_path, LATER, other, LATER | {"run_id": "r3", "score_cont": 0.5})
    with pytest.raises(TableError, match="says not how long agents had .*--budget 8h"):
        import_metr(file)
    found = import_metr(file, agent_budget_s=28800.0)
    assert found.attempts.attempts["marks"].to_list() == ["clipped", ""]
    assert found.attempts.attempts["cost_usd"].to_list() == [12.5, 12.5]
    assert found.notes[0].startswith("1 rows are runs of other tasks")
    assert "clipped to 0..1" in found.notes[1]


def test_last_answer_environment_is_known(tmp_path: Path) -> None:
    rows = import_metr(write(tmp_path, RUN | {"task_id": "ai_rd_small_scaling_law/main"}))
    assert rows.attempts.attempts["counts"].to_list() == ["last"]


def test_runs_that_failed_on_the_harness_side_are_left_out(tmp_path: Path) -> None:
    rows = import_metr(write(tmp_path, RUN | {"fatal_error_from": "server"}))
    assert rows.attempts.attempts["left_out"].to_list() == ["ended in an error of the harness"]


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (["{not json"], "row 1 is not JSON"),
        ([RUN, "[1, 2]"], "row 2 is not a JSON object"),
        ([""], "is empty"),
        (
            [{k: v for k, v in RUN.items() if k != "alias"}],
            "has no column 'alias'; it has: completed_at",
        ),
        ([{k: v for k, v in RUN.items() if k != "score"}], "has no column 'score'"),
        (
            [RUN, RUN | {"run_id": "r2", "score": None}],
            "row 2: score is None; it must be a finite number",
        ),
        (
            [
                '{"run_id": "r", "task_id": "ai_rd_fix_embedding/main", "score": NaN, '
                '"time_limit": 1800, "started_at": 1, "completed_at": 2, "alias": "a"}'
            ],
            "row 1: score is nan",
        ),
        ([RUN | {"completed_at": 5}], "row 1: completed_at is 5.0; it must be after started_at"),
        ([RUN | {"time_limit": -1}], "row 1: time_limit is -1.0; it must be seconds, not below 0"),
        ([RUN | {"alias": None}], "row 1: alias is None; it must be there"),
        ([RUN, HUMAN, RUN], "rows 1 and 3 have the same run_id 'r1'; keep one"),
        ([RUN | {"task_id": "other/1"}], "holds no run of a RE-Bench task"),
        ([RUN | {"score": "high"}], "a column mixes numbers and text"),
    ],
)
def test_broken_table_is_refused_in_one_sentence(tmp_path: Path, rows: list, message: str) -> None:
    with pytest.raises(TableError) as caught:
        import_metr(write(tmp_path, *rows))
    assert message in str(caught.value) and "\n" not in str(caught.value)
    assert "runs.jsonl" in str(caught.value)


def test_several_bad_rows_are_counted(tmp_path: Path) -> None:
    rows = [RUN | {"run_id": f"r{i}", "score": None} for i in range(3)]
    with pytest.raises(TableError, match=r"\(3 rows like it\)"):
        import_metr(write(tmp_path, *rows))


def test_missing_file_is_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(TableError, match="can't be read"):
        import_metr(tmp_path / "nowhere.jsonl")


def test_export_writes_rows_that_the_pipeline_and_the_importer_read(
    make_table, tmp_path: Path
) -> None:
    table = make_table(
        {
            "score": 1.4,
            "profile": "full",
            "started_ms": 1000,
            "wall_s": 60.0,
            "input_tokens": 5,
            "output_tokens": 2,
        },
        {"score": 0.2, "profile": "full", "started_ms": 1000, "kind": "human", "working_s": 3600.0},
        {"score": 0.1, "left_out": "ended in our error"},
    )
    file = tmp_path / "out.jsonl"
    assert export_metr(table, file, human_minutes={"prefix_sum": 480.0}) == 2
    human, agent = sorted(
        (json.loads(line) for line in file.read_text().splitlines()),
        key=lambda r: r["alias"],
        reverse=True,
    )
    assert agent["task_id"] == "ai_rd_triton_cumsum/main" and agent["task_source"] == "RE-Bench"
    assert (agent["score"], agent["score_cont"], agent["score_binarized"]) == (1.4, 1.0, 1)
    assert (agent["started_at"], agent["completed_at"], agent["tokens_count"]) == (1000, 61000, 7)
    assert (
        agent["human_minutes"] == 480.0
        and agent["equal_task_weight"] == agent["invsqrt_task_weight"] == 1.0
    )
    assert (human["alias"], human["time_limit"], human["completed_at"]) == ("human", 0, 3_601_000)
    again = prepared(import_metr(file).attempts, Options())
    assert sorted(again.attempts["score"].to_list()) == [0.2, 1.4]


def test_small_profile_is_exported_as_no_rebench_run(make_table, tmp_path: Path) -> None:
    file = tmp_path / "out.jsonl"
    export_metr(make_table({"environment": "mine"}), file, human_minutes={"mine": 60})
    row = json.loads(file.read_text())
    assert row["task_source"] == "OpenRE-Bench small" and row["task_family"] == "mine"
    assert row["tokens_count"] is None


@pytest.mark.parametrize("minutes", [{}, {"prefix_sum": 0.0}, {"prefix_sum": float("nan")}])
def test_export_needs_human_minutes(make_table, tmp_path: Path, minutes: dict) -> None:
    with pytest.raises(TableError, match="no human minutes for prefix_sum.*--human-minutes"):
        export_metr(make_table({}), tmp_path / "out.jsonl", human_minutes=minutes)
