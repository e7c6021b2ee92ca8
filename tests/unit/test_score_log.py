import json
import os
from pathlib import Path

import pytest

from openrebench.core.result import Outcome, ScoreResult
from openrebench.core.scale import ScoreScale
from openrebench.core.score_log import ScoreLog, best_at, last_at, read_entries, verify
from openrebench.errors import AttemptError, Reason

SCALE = ScoreScale(unit="ms", direction="lower", transform="log", start=100.0, reference=10.0)


def result(raw: float | None, outcome: Outcome = Outcome.SCORED) -> ScoreResult:
    return ScoreResult(
        outcome=outcome,
        raw=raw,
        unit="ms",
        reason=Reason.CRASHED if outcome is Outcome.INVALID else None,
        message="as it went",
        environment="prefix_sum@1.0.0/small",
        submission="ab",
        seed_commitment="cd",
        isolation="bubblewrap",
        seconds=1.0,
    )


def filled(path: Path, raws: list[float | None]) -> None:
    with ScoreLog(path) as log:
        for k, raw in enumerate(raws):
            outcome = Outcome.INVALID if raw is None else Outcome.SCORED
            log.append(result(raw, outcome), requested_at_s=10.0 * k, elapsed_s=10.0 * k + 5)


def test_entries_come_back_as_written(tmp_path: Path) -> None:
    filled(tmp_path / "log", [100.0, None, 30.0])
    entries = list(read_entries(tmp_path / "log"))
    assert [e.raw for e in entries] == [100.0, None, 30.0]
    assert verify(entries, [entries[1].hash]) == []


def test_a_torn_last_line_is_passed_over_and_written_over(tmp_path: Path) -> None:
    path = tmp_path / "log"
    filled(path, [100.0, 30.0])
    whole = path.read_bytes()
    for cut in range(1, len(whole.splitlines(keepends=True)[1])):
        path.write_bytes(whole[:-cut])
        assert len(list(read_entries(path))) == 1
    with ScoreLog(path) as log:
        log.append(result(20.0), requested_at_s=20.0, elapsed_s=21.0)
    assert [e.raw for e in read_entries(path)] == [100.0, 20.0]
    assert verify(read_entries(path)) == []


@pytest.mark.parametrize(
    ("damage", "found"),
    [
        (lambda lines: lines[:1] + lines[2:], "missing or moved"),
        (lambda lines: [lines[1], lines[0], lines[2]], "missing or moved"),
        (lambda lines: [lines[0], lines[1].replace("30.0", "3.0"), lines[2]], "was changed"),
    ],
)
def test_tampering_shows(tmp_path: Path, damage, found: str) -> None:
    path = tmp_path / "log"
    filled(path, [100.0, 30.0, 20.0])
    path.write_text("".join(damage(path.read_text().splitlines(keepends=True))))
    assert any(found in problem for problem in verify(read_entries(path)))


def test_only_anchors_show_a_tail_that_was_cut_off(tmp_path: Path) -> None:
    path = tmp_path / "log"
    filled(path, [100.0, 30.0, 20.0])
    anchor = list(read_entries(path))[-1].hash
    path.write_text("".join(path.read_text().splitlines(keepends=True)[:-1]))
    assert verify(read_entries(path)) == []
    assert "not in the log" in verify(read_entries(path), [anchor])[0]


def test_a_damaged_finished_line_is_an_error_with_its_place(tmp_path: Path) -> None:
    path = tmp_path / "log"
    filled(path, [100.0])
    row = json.loads(path.read_text()) | {"raw": "fast"}
    path.write_text(json.dumps(row) + "\n")
    with pytest.raises(AttemptError, match="line 1: raw"):
        list(read_entries(path))


def test_best_and_last_count_the_moment_a_score_was_asked_for(tmp_path: Path) -> None:
    path = tmp_path / "log"
    filled(path, [100.0, 30.0, None, 60.0])
    entries = list(read_entries(path))
    assert best_at(entries, SCALE, 5.0).raw == 100.0
    assert best_at(entries, SCALE, 10.0).raw == 30.0
    assert best_at(entries, SCALE, 99.0).raw == 30.0
    assert last_at(entries, 99.0).raw == 60.0
    assert best_at(entries[2:3], SCALE, 99.0) is None


def test_an_entry_is_on_disk_before_append_returns(tmp_path: Path, monkeypatch) -> None:
    synced = []
    monkeypatch.setattr(os, "fsync", lambda fd: synced.append(fd))
    with ScoreLog(tmp_path / "log") as log:
        log.append(result(1.0), requested_at_s=0.0, elapsed_s=0.0)
        assert synced


@pytest.mark.parametrize("raw", [float("nan"), float("inf"), None])
def test_scored_needs_a_finite_number(raw: float | None) -> None:
    with pytest.raises(ValueError, match="finite"):
        result(raw)
