"""What is shown while attempts run."""

import io
from pathlib import Path
from types import SimpleNamespace

import pytest
from rich.console import Console

from openrebench.core.anchors import load_anchors, local_folder
from openrebench.core.catalog import load_environment
from openrebench.core.result import Outcome
from openrebench.core.score_log import ScoreEntry
from openrebench.errors import Reason
from openrebench.harness.accounts import Accounts, Book, ModelAccount
from openrebench.harness.clock import WorkingClock
from openrebench.harness.feedback import ANOTHER_MACHINE, describe, describe_log
from openrebench.harness.progress import progress_table, shown_progress


def entry(seq: int, raw: float | None, **facts: object) -> ScoreEntry:
    base = {
        "outcome": Outcome.SCORED if raw is not None else Outcome.INVALID,
        "reason": None if raw is not None else Reason.CRASHED,
        "unit": "points",
        "message": "said",
        "environment": "guess_number@1.0.0/small",
        "submission": "",
        "seed_commitment": "",
        "isolation": "none",
        "seconds": 0.1,
        "requested_at_s": float(seq),
        "elapsed_s": float(seq),
        "prev_hash": "",
    }
    return ScoreEntry.model_validate({**base, **facts, "seq": seq, "raw": raw})


def attempt(
    *entries: ScoreEntry, limit_s: float | None = 90.0, cost_usd: float | None = 0.25
) -> SimpleNamespace:
    record = SimpleNamespace(id="guess-1", profile="small", device="none")
    inner = SimpleNamespace(
        environment=load_environment("guess"),
        record=record,
        log=SimpleNamespace(entries=entries),
    )
    used = {"a/x": ModelAccount(input_tokens=1000, output_tokens=500, cost_usd=cost_usd)}
    book = Book(Accounts(models=used), {})
    return SimpleNamespace(attempt=inner, clock=WorkingClock(limit_s, 30.0), book=book)


def drawn(*attempts: SimpleNamespace) -> str:
    console = Console(file=io.StringIO(), width=100)
    console.print(progress_table(list(attempts)))  # type: ignore[arg-type]
    return console.file.getvalue()


def test_a_row_has_best_score_calls_and_time_left() -> None:
    text = drawn(attempt(entry(0, 41.0), entry(1, None), entry(2, 7.0)))
    assert "guess-1" in text and "7 (7.0 points)" in text and " 3 " in text and "1m" in text


def test_a_row_without_scores_or_limit() -> None:
    text = drawn(attempt(limit_s=None))
    assert "none yet" in text and "no limit" in text


def test_a_row_has_tokens_and_money() -> None:
    assert "1,500" in drawn(attempt()) and "0.25 USD" in drawn(attempt())
    assert "unknown" in drawn(attempt(cost_usd=None))


def test_nothing_is_shown_where_nobody_looks(capsys: pytest.CaptureFixture[str]) -> None:
    with shown_progress():
        pass
    assert capsys.readouterr() == ("", "")


def test_feedback_of_each_outcome() -> None:
    card = load_environment("guess").card
    hidden = card.model_copy(update={"score": card.score.model_copy(update={"visible": False})})
    error = entry(3, None, outcome=Outcome.ERROR, reason=None)
    assert describe(card, "small", "none", entry(1, 7.0)) == "scored: 7.0 points\nsaid"
    assert describe(card, "small", "none", entry(1, None)) == "invalid (crashed): said"
    assert describe(card, "small", "none", error) == "error: said"
    assert "7" not in describe(hidden, "small", "none", entry(1, 7.0))
    assert describe_log(hidden, "small", "none", [entry(1, 7.0)]).count("7") == 0
    assert describe_log(card, "small", "none", []) == "no scores yet"


@pytest.mark.parametrize("measured_here", [False, True])
def test_feedback_says_whose_times_a_score_is_normalised_by(
    measured_here: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENREBENCH_HOME", str(tmp_path))
    card = load_environment("prefix_sum").card
    shipped = next((card.folder / "anchors").glob("small-*.json"))
    device = shipped.stem.removeprefix("small-")
    if measured_here:
        load_anchors(card, "small", device).save(local_folder(card))
    said = describe(card, "small", device, entry(1, 100.0, unit="ms"))
    assert "(start 0, reference 1" in said
    assert (ANOTHER_MACHINE in said) is not measured_here
