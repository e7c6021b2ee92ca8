"""What the command line says to a user's mistakes, and that tables go round."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from openrebench.cli import cli, main
from openrebench.console import print_score, print_table
from openrebench.core.result import ScoreResult
from openrebench.errors import ReBenchError

RUNS = Path(__file__).resolve().parents[3] / "shared" / "data" / "metr_rebench_runs.jsonl"


def invoke(*words: str) -> Result:
    return CliRunner().invoke(cli, words)


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("show", "prefix_sums"), "did you mean 'prefix_sum'"),
        (("show", "prefix_sum", "--profile", "big"), "no profile 'big'; it has: small"),
        (("run", "prefix_sum", "--time-limit", "soon"), "time limit 'soon' is not a duration"),
        (("report", ".", "--where", "x"), "write it as NAME=VALUE"),
        (("export", "metr", "-o", "x", "--human-minutes", "a=b"), "'b' is not a number of minutes"),
    ],
)
def test_a_mistake_is_one_sentence(words, says, tmp_path: Path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    result = invoke(*words)
    assert isinstance(result.exception, ReBenchError)
    assert says in str(result.exception) and "\n" not in str(result.exception)


def test_mistakes_leave_with_status_2_and_no_trace(monkeypatch, capsys) -> None:
    monkeypatch.setattr("sys.argv", ["re-bench", "show", "nothing"])
    with pytest.raises(SystemExit) as left:
        main()
    assert left.value.code == 2
    assert capsys.readouterr().err.startswith("re-bench: no environment named 'nothing'")


def test_list_has_stable_keys() -> None:
    (row,) = [r for r in json.loads(invoke("list", "--json").output) if r["id"] == "prefix_sum"]
    assert set(row) == {"id", "title", "profiles", "available", "why_not"}
    assert "small" in row["available"] and "gpu" in row["profiles"]


@pytest.mark.parametrize(("start", "code"), [("agent", 0), (None, 3)])
def test_score_has_stable_keys_and_exit_codes(start, code, tmp_path: Path, prefix_sum) -> None:
    folder = prefix_sum.card.folder / start if start else tmp_path
    result = invoke("score", str(folder), "--env", "prefix_sum", "--json")
    assert result.exit_code == code
    keys = "outcome raw unit normalised reason message environment seconds flags"
    assert set(json.loads(result.output)) == set(keys.split())


@pytest.mark.parametrize(
    "cell", ["openrebench[smol]", "ValueError: [/x]", "[black on black]ok", ":x:"]
)
def test_cells_of_a_table_are_printed_as_they_are(cell: str, capsys) -> None:
    print_table(("what", "note"), [("one", cell)])
    assert cell in capsys.readouterr().out


@pytest.mark.parametrize(
    ("value", "note", "said"),
    [
        (0.5, "", "normalised 0.500\n"),
        (0.5, "so it is", "normalised 0.500 (so it is)\n"),
        (None, "none here", "no normalised score: none here\n"),
    ],
)
def test_a_score_says_what_it_rests_on(value, note: str, said: str, capsys) -> None:
    facts = {"outcome": "scored", "raw": 2.0, "unit": "ms", "message": "said", "seconds": 0.1}
    facts |= {"environment": "e", "submission": "", "isolation": "none", "seed_commitment": ""}
    print_score(ScoreResult.model_validate(facts), value, note)
    assert f"raw 2.0 ms, {said}" in capsys.readouterr().out


@pytest.mark.skipif(not RUNS.exists(), reason="METR's public rows are not beside the checkout")
def test_imported_rows_go_out_and_come_back(tmp_path: Path) -> None:
    assert invoke("import", "metr", str(RUNS), "-o", str(tmp_path / "a")).exit_code == 0
    out = invoke("export", "csv", str(tmp_path / "a"), "-o", str(tmp_path / "a.csv"))
    assert out.exit_code == 0, out.output
    again = invoke("import", "csv", str(tmp_path / "a.csv"), "-o", str(tmp_path / "b"))
    assert again.exit_code == 0 and "1808 attempts" in again.output
