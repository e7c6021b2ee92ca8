"""An attempt on disk: written once, readable at any moment, checkable afterwards."""

import json
import os
import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from openrebench.core.attempt import Attempt, Solver, Usage, find_attempts, read_attempt
from openrebench.core.card import TaskCard
from openrebench.core.environment import Environment, Measurement
from openrebench.core.rescoring import read_rescore, rescore
from openrebench.core.result import Outcome
from openrebench.core.reviewing import review_pack
from openrebench.core.scoring import score_submission
from openrebench.core.verifying import verify_attempt
from openrebench.errors import AttemptError, InvalidSubmission, Reason
from openrebench.isolation.runner import IsolationMode

CARD = {
    "id": "toy", "version": "1.0.0", "title": "Toy", "summary": "A toy.", "submission": ["*.txt"],
    "score": {"unit": "s", "direction": "lower", "transform": "log"},
    "profiles": {"small": {"device": "cpu", "summary": "Small.", "limits": {}}},
}  # fmt: skip
FACTS = {"hardware": {"cpu": "test"}, "device": "test", "versions": {}, "limits": {}}


class Toy(Environment):
    """Scores the number that stands in the submission."""

    def score(self, submission, runner, profile, *, seed):
        text = (submission / "a.txt").read_text()
        if text == "bad":
            raise InvalidSubmission(Reason.RULE_BROKEN, "it says bad")
        if text == "ours":
            raise ZeroDivisionError("a fault of ours, with a secret path")
        flags = ("odd: it is one",) if text == "1" else ()
        return Measurement(raw=float(text), message=f"{text} s", flags=flags)


class NoRunner:
    mode = IsolationMode.SUBPROCESS


@pytest.fixture
def toy() -> Toy:
    return Toy(TaskCard.model_validate(CARD))


@pytest.fixture
def attempt(toy: Toy, tmp_path: Path) -> Attempt:
    return Attempt.create(
        tmp_path / "attempts", toy, NoRunner(), profile="small",
        solver=Solver(kind="agent", name="tester", settings={"k": 1}), time_budget_s=60.0,
        facts=FACTS,
    )  # fmt: skip


def score(attempt: Attempt, folder: Path, text: str, at_s: float = 1.0):
    folder.mkdir(exist_ok=True)
    (folder / "a.txt").write_text(text)
    return attempt.score(folder, lambda: at_s)


def test_every_outcome_is_logged_and_read_back(attempt: Attempt, tmp_path: Path) -> None:
    work = tmp_path / "work"
    outcomes = [score(attempt, work, text).outcome for text in ("3", "bad", "ours", "2")]
    assert outcomes == [Outcome.SCORED, Outcome.INVALID, Outcome.ERROR, Outcome.SCORED]
    assert read_attempt(attempt.folder).running
    attempt.end("submitted", Usage(working_s=9.0))
    stored = read_attempt(attempt.folder)
    assert not stored.running
    assert stored.record.ended == "submitted"
    assert stored.record.usage.score_calls == 4
    assert [e.raw for e in stored.entries] == [3.0, None, None, 2.0]
    assert verify_attempt(stored, [stored.entries[-1].hash]) == []


def test_the_solver_never_reads_our_errors(attempt: Attempt, tmp_path: Path) -> None:
    entry = score(attempt, tmp_path / "work", "ours")
    assert "secret path" not in entry.message and "errors.jsonl" in entry.message
    logged = json.loads((attempt.folder / "errors.jsonl").read_text())
    assert "secret path" in logged["text"] and logged["reference"] in entry.message


def test_one_writer_at_a_time(attempt: Attempt, toy: Toy) -> None:
    with pytest.raises(AttemptError, match="another process is writing"):
        Attempt(attempt.folder, toy, NoRunner())
    attempt.close()
    Attempt(attempt.folder, toy, NoRunner()).close()


def test_changed_files_and_seeds_show(attempt: Attempt, tmp_path: Path) -> None:
    first = score(attempt, tmp_path / "work", "3")
    score(attempt, tmp_path / "work", "2")
    attempt.end("submitted", Usage())
    (attempt.folder / "submissions" / first.submission / "a.txt").write_text("1")
    (attempt.folder / "seeds.jsonl").write_text("")
    problems = verify_attempt(read_attempt(attempt.folder))
    assert any("its files were changed" in p for p in problems)
    assert sum("its seed was not kept" in p for p in problems) == 2


def test_the_review_pack_has_flags_refusals_and_changes(attempt: Attempt, tmp_path: Path) -> None:
    for text in ("3", "bad", "2", "1"):
        score(attempt, tmp_path / "work", text)
    attempt.end("submitted", Usage())
    pack = review_pack(read_attempt(attempt.folder))
    assert "4 score calls: 1 flagged, 1 refused" in pack
    assert "**odd: it is one**" in pack and "> it says bad" in pack
    assert "-3\n+1\n" in pack and "## Score call 2" not in pack


def test_rescoring_runs_the_best_submissions_again(attempt, toy, tmp_path, monkeypatch) -> None:
    scale = toy.card.score.scale(10.0, 1.0)
    for text in ("9", "2", "bad", "5", "4", "2"):
        score(attempt, tmp_path / "work", text)
    attempt.end("submitted", Usage())
    slow = {"2": "3"}
    real = Toy.score
    monkeypatch.setattr(
        Toy, "score",
        lambda self, submission, *a, **k: Measurement(raw=3.0, message="slower")
        if (submission / "a.txt").read_text() in slow else real(self, submission, *a, **k),
    )  # fmt: skip
    outcome = rescore(read_attempt(attempt.folder), toy, NoRunner(), scale)
    assert [c.logged_raw for c in outcome.candidates] == [2.0, 4.0, 5.0]
    assert outcome.official_raw == 3.0
    assert any(flag.startswith("drop") for flag in outcome.flags)
    assert read_rescore(attempt.folder) == outcome


def test_the_official_score_comes_from_the_final_split(attempt, toy, tmp_path, monkeypatch) -> None:
    scale = toy.card.score.scale(10.0, 1.0)
    score(attempt, tmp_path / "work", "2")
    attempt.end("submitted", Usage())
    stored = read_attempt(attempt.folder)
    assert rescore(stored, toy, NoRunner(), scale).split == "score"
    monkeypatch.setattr(
        Toy, "score_final", lambda *a, **k: Measurement(raw=4.0, message="harder"), raising=False
    )  # fmt: skip
    outcome = rescore(stored, toy, NoRunner(), scale)
    assert (outcome.split, outcome.official_raw) == ("final", 4.0) and outcome.flags
    harder = toy.card.score.scale(20.0, 2.0)
    assert rescore(stored, toy, NoRunner(), scale, final_scale=harder).flags == ()
    assert score_submission(toy, tmp_path / "work", "small", NoRunner()).raw == 2.0


def test_rescoring_refuses_another_version(attempt: Attempt, toy: Toy) -> None:
    attempt.end("submitted", Usage())
    newer = Toy(toy.card.model_copy(update={"version": "2.0.0"}))
    with pytest.raises(AttemptError, match=r"was scored by toy@1.0.0, this is 2.0.0"):
        rescore(read_attempt(attempt.folder), newer, NoRunner(), toy.card.score.scale(2, 1))


def test_broken_folders_get_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(AttemptError, match="holds no attempt"):
        read_attempt(tmp_path)
    (tmp_path / "attempt.json").write_text('{"id": "x"}')
    with pytest.raises(AttemptError, match="attempt.json: environment"):
        read_attempt(tmp_path)
    assert list(find_attempts(tmp_path / "nothing")) == []


def test_kill_at_any_moment_keeps_what_was_acknowledged(tmp_path: Path) -> None:
    code = textwrap.dedent(f"""
        import sys
        sys.path.insert(0, {str(Path(__file__).parent)!r})
        import pathlib, test_attempt as t
        toy = t.Toy(t.TaskCard.model_validate(t.CARD))
        root = pathlib.Path(sys.argv[1])
        attempt = t.Attempt.create(root / "attempts", toy, t.NoRunner(), profile="small",
            solver=t.Solver(kind="agent", name="x"), time_budget_s=None, facts=t.FACTS)
        for k in range(1, 10_000):
            entry = t.score(attempt, root / "work", str(k))
            print(entry.hash, flush=True)
        """)
    for moment in range(5):
        root = tmp_path / str(moment)
        root.mkdir()
        process = subprocess.Popen(
            [sys.executable, "-c", code, str(root)], stdout=subprocess.PIPE, text=True
        )
        assert process.stdout is not None
        acknowledged = [process.stdout.readline().strip() for _ in range(3 + 5 * moment)]
        os.kill(process.pid, signal.SIGKILL)
        acknowledged += process.stdout.read().split("\n")[:-1]
        process.stdout.close()
        process.wait()
        (folder,) = find_attempts(root / "attempts")
        stored = read_attempt(folder)
        assert not stored.running and stored.record.ended is None
        assert verify_attempt(stored, acknowledged) == []
