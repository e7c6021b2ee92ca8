"""Tables and folders of attempts to analyse."""

from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path

import pytest

from openrebench.analysis.table import Attempts, from_rows
from openrebench.core.anchors import Anchors, local_folder
from openrebench.core.attempt import AttemptRecord, Solver, Usage
from openrebench.core.catalog import find_card
from openrebench.core.result import ScoreResult
from openrebench.core.score_log import ScoreLog

HOUR_S = 3600.0
MakeTable = Callable[..., Attempts]
MakeAttempt = Callable[..., Path]
SHARED = Path(__file__).parents[2].parent / "shared" / "data" / "metr_rebench_runs.jsonl"


def plain_row(**changed: object) -> dict[str, object]:
    """An agent's attempt of one hour at prefix_sum that scored 0.5, without a log."""
    row: dict[str, object] = {
        "attempt": "a",
        "environment": "prefix_sum",
        "version": "1.0.0",
        "profile": "small",
        "anchors": "measured",
        "isolation": "isolated",
        "source": "own",
        "solver": "agent",
        "kind": "agent",
        "counts": "best",
        "budget_s": HOUR_S,
        "length_s": HOUR_S,
        "working_s": HOUR_S,
        "ended": "budget",
        "score": 0.5,
    }
    return row | changed


@pytest.fixture
def make_table() -> MakeTable:
    """Make a table of attempts that differ in some columns, without logs."""

    def make(*changes: dict[str, object]) -> Attempts:
        return from_rows([plain_row(attempt=f"a{i}") | c for i, c in enumerate(changes)])

    return make


@pytest.fixture
def make_logged() -> MakeTable:
    """Make a table of attempts with logs: (changes, [(seconds, score or None), ...])."""

    def make(*attempts: tuple[dict[str, object], Sequence[tuple[float, float | None]]]) -> Attempts:
        rows, logs = [], []
        for i, (changes, log) in enumerate(attempts):
            best = max([score for _, score in log if score is not None], default=0.0)
            final = {"score": max(0.0, best), "score_calls": len(log), "has_log": True}
            rows.append(plain_row(attempt=f"a{i}") | final | changes)
            logs.append([entry(at_s, score) for at_s, score in log])
        return from_rows(rows, logs)

    return make


def entry(at_s: float, score: float | None) -> dict[str, object]:
    """A score-log entry; invalid if the score is None."""
    if score is None:
        return {"at_s": at_s, "outcome": "invalid", "reason": "wrong_output"}
    return {"at_s": at_s, "outcome": "scored", "raw": score, "score": score}


@pytest.fixture
def metr_file() -> Path:
    """The public table of runs, which is not part of the project."""
    if not SHARED.is_file():
        pytest.skip(f"{SHARED.name} lies beside the project, and is not there")
    return SHARED


@pytest.fixture
def make_attempt(tmp_path: Path) -> MakeAttempt:
    """Write an attempt's folder at prefix_sum: raw milliseconds, or None for invalid."""

    def make(
        name: str,
        log: Sequence[tuple[float, float | None]],
        flags: tuple[str, ...] = (),
        **changed: object,
    ) -> Path:
        folder = tmp_path / "attempts" / name
        folder.mkdir(parents=True)
        with ScoreLog(folder / "score_log.jsonl") as file:
            for at_s, raw in log:
                file.append(result(raw, flags), requested_at_s=at_s, elapsed_s=at_s + 1)
        record = {
            "id": name,
            "environment": "prefix_sum",
            "environment_version": find_card("prefix_sum").version,
            "profile": "small",
            "solver": Solver(kind="agent", name="tester"),
            "time_budget_s": 1800.0,
            "started_at": datetime(2026, 1, 1, tzinfo=UTC),
            "ended_at": datetime(2026, 1, 1, 1, tzinfo=UTC),
            "ended": "budget",
            "usage": Usage(working_s=1800.0, wall_s=1900.0, score_calls=len(log)),
            "isolation": "bubblewrap",
            "device": "test-device",
        }
        written = AttemptRecord.model_validate(record | changed)
        (folder / "attempt.json").write_text(written.model_dump_json(), encoding="utf-8")
        return folder

    return make


def result(raw: float | None, flags: tuple[str, ...]) -> ScoreResult:
    verdict: dict[str, object] = {"outcome": "invalid", "reason": "wrong_output"}
    if raw is not None:
        verdict = {"outcome": "scored", "raw": raw, "flags": flags}
    return ScoreResult.model_validate(
        {
            "unit": "ms",
            "message": "-",
            "environment": "prefix_sum@1.0.0/small",
            "submission": "",
            "seed_commitment": "",
            "isolation": "bubblewrap",
            "scored_at": datetime(2026, 1, 1, tzinfo=UTC),
            "seconds": 1.0,
        }
        | verdict
    )


@pytest.fixture
def anchors() -> Anchors:
    """Anchors of the device 'test-device': start 100 ms, reference 10 ms."""
    card = find_card("prefix_sum")
    measured = Anchors(
        environment=card.id,
        version=card.version,
        profile="small",
        device="test-device",
        unit="ms",
        start=(100.0,) * 5,
        reference=(10.0,) * 5,
        score_call_s=1.0,
        hardware={},
        versions={},
        isolation="bubblewrap",
        conditions="idle",
    )
    path = measured.save(local_folder(card))
    yield measured
    path.unlink()
