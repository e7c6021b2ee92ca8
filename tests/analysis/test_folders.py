"""Folders of attempts as a table."""

import json
from pathlib import Path

import pytest

from openrebench.analysis.errors import TableError
from openrebench.analysis.folders import read_folders
from openrebench.analysis.table import SHIPPED_TIMES
from openrebench.core.anchors import local_folder
from openrebench.core.attempt import Solver, Usage
from openrebench.core.catalog import find_card
from openrebench.errors import AttemptError

LOG = [(0.0, 100.0), (60.0, 50.0), (120.0, None), (180.0, 10.0), (240.0, 120.0)]


def test_attempt_becomes_a_row_with_normalised_scores(make_attempt, anchors, tmp_path) -> None:
    make_attempt("one", LOG)
    table = read_folders([tmp_path / "attempts"])
    row = table.attempts.row(0, named=True)
    assert row["score"] == pytest.approx(1.0) and row["raw"] == 10.0 and row["unit"] == "ms"
    assert row["anchors"] == f"prefix_sum@{row['version']}/small-test-device"
    assert (row["score_calls"], row["length_s"], row["left_out"]) == (5, 1800.0, "")
    assert table.entries["score"][4] < 0 and table.entries["score"][2] is None
    assert table.entries["reason"].to_list()[2] == "wrong_output"


@pytest.mark.parametrize("measured", [False, True])
def test_shipped_times_are_named_as_such(make_attempt, anchors, measured: bool) -> None:
    card = find_card("prefix_sum")
    shipped = next((card.folder / "anchors").glob("small-*.json"))
    device = shipped.stem.removeprefix("small-")
    if measured:
        anchors.model_copy(update={"device": device}).save(local_folder(card))
    row = read_folders([make_attempt("one", LOG, device=device)]).attempts.row(0, named=True)
    assert row["anchors"].startswith(f"prefix_sum@{card.version}/small-{device}")
    assert row["anchors"].endswith(SHIPPED_TIMES) is not measured


def test_attempt_without_a_valid_entry_scores_zero(make_attempt, anchors) -> None:
    table = read_folders([make_attempt("none", [(0.0, None)])])
    assert table.attempts["score"].to_list() == [0.0] and table.attempts["raw"][0] is None


def test_without_anchors_there_are_raw_scores_only(make_attempt) -> None:
    row = read_folders([make_attempt("raw", LOG)]).attempts.row(0, named=True)
    assert row["score"] is None and row["raw"] == 10.0
    assert row["left_out"] == "no anchors for its device"


def test_attempt_that_ended_in_our_error_is_left_out(make_attempt, anchors) -> None:
    table = read_folders([make_attempt("bad", LOG, ended="error")])
    assert table.attempts["left_out"].to_list() == ["ended in our error"]


def test_interrupted_attempt_informs_only_the_time_it_worked(make_attempt, anchors) -> None:
    folder = make_attempt("cut", LOG, ended=None, ended_at=None, usage=Usage())
    row = read_folders([folder]).attempts.row(0, named=True)
    assert (row["ended"], row["length_s"], row["left_out"]) == ("interrupted", 240.0, "")


def test_attempt_without_a_budget_informs_the_time_it_worked(make_attempt, anchors) -> None:
    row = read_folders([make_attempt("free", LOG, time_budget_s=None)]).attempts.row(0, named=True)
    assert row["budget_s"] is None and row["length_s"] == 1800.0


def test_running_attempt_is_left_out(make_attempt, anchors, monkeypatch) -> None:
    folder = make_attempt("live", LOG, ended=None, ended_at=None)
    monkeypatch.setattr("openrebench.core.attempt._is_held", lambda _: True)
    assert read_folders([folder]).attempts["left_out"].to_list() == ["still running"]


def test_flags_of_entries_and_an_altered_log_are_flags(make_attempt, anchors) -> None:
    flagged = make_attempt("flagged", LOG, flags=("too_fast",))
    altered = make_attempt("altered", LOG)
    lines = (altered / "score_log.jsonl").read_text().splitlines()
    changed = json.loads(lines[1]) | {"raw": 1.0}
    (altered / "score_log.jsonl").write_text(
        "\n".join([lines[0], json.dumps(changed), *lines[2:]]) + "\n"
    )
    found = dict(read_folders([flagged, altered]).attempts.select("attempt", "flags").rows())
    assert found == {"flagged": "too_fast", "altered": "log_altered"}


def test_official_score_stands_beside_the_in_run_one(make_attempt, anchors) -> None:
    folder = make_attempt("again", LOG)
    written = {"attempt": "again", "unit": "ms", "candidates": [], "official_raw": 31.6227766}
    (folder / "rescore.json").write_text(json.dumps(written | {"flags": ["drop: a lot"]}))
    row = read_folders([folder]).attempts.row(0, named=True)
    assert row["score"] == pytest.approx(1.0) and row["official"] == pytest.approx(0.5)
    assert row["marks"] == "drop: a lot"


def test_solvers_differ_by_name_model_and_settings_but_not_by_seed(
    make_attempt, anchors, tmp_path
) -> None:
    def agent(**settings: object) -> Solver:
        return Solver(kind="agent", name="m", version="2", model="x/y", settings=settings)

    make_attempt("a", LOG, solver=agent(seed=1, depth=3))
    make_attempt("b", LOG, solver=agent(seed=2, depth=3, style="calm"))
    make_attempt("c", LOG, solver=Solver(kind="human", name="ada"))
    found = read_folders([tmp_path / "attempts"]).attempts["solver"].to_list()
    assert found == ["m 2 / x/y depth=3", "m 2 / x/y depth=3 style=calm", "human"]


def test_stand_in_of_the_card_is_in_the_label(make_attempt, anchors, monkeypatch) -> None:
    from openrebench.analysis import folders

    card = folders.find_card("prefix_sum")
    small = card.profiles["small"]
    named = small.model_copy(
        update={"parameters": {**small.parameters, "stand_in": "simulated coder"}}
    )
    changed = card.model_copy(update={"profiles": {"small": named}})
    monkeypatch.setattr(folders, "find_card", lambda _: changed)
    row = read_folders([make_attempt("sim", LOG)]).attempts.row(0, named=True)
    assert row["stand_in"] == "simulated coder" and row["solver"] == "tester [simulated coder]"


def test_another_budget_rule_is_named(make_attempt, anchors) -> None:
    folder = make_attempt("free scoring", LOG, limits={"charge_scoring": False})
    assert read_folders([folder]).attempts["budget_rule"].to_list() == ["scoring not charged"]


def test_last_answer_counts_where_the_card_says_so(make_attempt, anchors, monkeypatch) -> None:
    from openrebench.analysis import folders

    card = folders.find_card("prefix_sum")
    changed = card.model_copy(update={"score": card.score.model_copy(update={"counts": "last"})})
    monkeypatch.setattr(folders, "find_card", lambda _: changed)
    row = read_folders([make_attempt("last", LOG)]).attempts.row(0, named=True)
    assert row["raw"] == 120.0 and row["score"] == 0.0 and row["counts"] == "last"


def test_empty_folder_and_the_same_folder_twice_are_refused(
    make_attempt, anchors, tmp_path: Path
) -> None:
    (tmp_path / "nothing").mkdir()
    with pytest.raises(TableError, match="nothing: holds no attempt; make one with: re-bench run"):
        read_folders([tmp_path / "nothing"])
    folder = make_attempt("one", LOG)
    with pytest.raises(TableError, match="attempt 'one' is there 2 times"):
        read_folders([folder, folder])


def test_broken_log_line_is_named(make_attempt, anchors) -> None:
    folder = make_attempt("torn", LOG)
    with (folder / "score_log.jsonl").open("a") as file:
        file.write("not json\n")
    with pytest.raises(AttemptError, match="score_log.jsonl line 6"):
        read_folders([folder])


def test_raw_score_without_a_logarithm_is_one_sentence(make_attempt, anchors) -> None:
    folder = make_attempt("zero", [(0.0, 100.0), (5.0, 0.0)])
    with pytest.raises(TableError, match="zero: raw score 0.0 ms has no logarithm"):
        read_folders([folder])
