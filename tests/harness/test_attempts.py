"""An attempt from its first to its last step: what is kept, however it ends."""

import json
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from openrebench.core.anchors import Anchors
from openrebench.core.attempt import StoredAttempt
from openrebench.core.card import ScoreSpec
from openrebench.core.score_log import best_at, verify
from openrebench.errors import ReBenchError
from openrebench.harness import compat, live
from openrebench.harness.budget import Fuses
from openrebench.harness.run import run_attempts
from openrebench.harness.transcripts import anchors_in
from openrebench.isolation.device import exclusive

Play = Callable[..., tuple[StoredAttempt, Path]]
CANARY = "OPENREBENCH-TEST-CANARY"
GOOD = {"do": "write", "path": "solution.py", "content": "NUMBER = 40\n"}
BAD = {"do": "write", "path": "solution.py", "content": "NUMBER = 900\n"}
SCORE, WAIT = {"do": "score"}, {"do": "wait", "seconds": 30}
MODEL_SCRIPT = [
    {"tool": "bash", "arguments": {"command": "echo 'NUMBER = 40' > solution.py"}},
    {"tool": "score"},
    {"tool": "time_left"},
    {"tool": "score_log"},
]


def raws(attempt: StoredAttempt) -> list[float | None]:
    return [entry.raw for entry in attempt.entries]


def assert_sound(attempt: StoredAttempt, transcript: Path) -> None:
    """The log verifies, also against the transcript, and nothing of the attempt is left running."""
    found = anchors_in(transcript)
    assert verify(attempt.entries, found) == []
    assert found == [entry.hash for entry in attempt.entries[1:]]
    assert not attempt.running and live.all_open() == []


def with_model(tmp_path: Path, script: list[dict[str, object]], **options: object) -> StoredAttempt:
    from openrebench.core.attempt import read_attempt

    path = tmp_path / "script.json"
    path.write_text(json.dumps(script))
    chosen = {"time_limit_s": 60, "root": tmp_path / "attempts", **options}
    (folder,) = run_attempts(
        ["guess"], agent="react", model="scripted/x", model_args={"script": str(path)}, **chosen
    )  # type: ignore[arg-type]
    assert_sound(read_attempt(folder), folder / "transcript.eval")
    return read_attempt(folder)


def test_a_submitted_attempt_has_its_whole_record(play: Play, anchors: Anchors) -> None:
    attempt, transcript = play([GOOD, SCORE, BAD, SCORE, {"do": "submit"}, SCORE])
    assert raws(attempt) == [41.0, 2.0, 858.0]
    assert_sound(attempt, transcript)
    record = attempt.record
    assert record.ended == "submitted" and record.ended_at is not None
    assert (record.solver.name, record.solver.settings) == ("scripted", {"steps": "steps.json"})
    assert record.time_budget_s == 60
    assert {"openrebench", "inspect_ai", "python"} <= record.versions.keys()
    assert record.usage.score_calls == 3 and record.usage.input_tokens == 0
    assert 0 < record.usage.working_s <= record.usage.wall_s + 0.5
    assert attempt.entries[0].requested_at_s == 0.0
    assert [e.requested_at_s for e in attempt.entries] == sorted(
        e.requested_at_s for e in attempt.entries
    )


def test_the_final_score_is_the_best_of_the_log(play: Play, anchors: Anchors) -> None:
    from inspect_ai.log import read_eval_log

    _, transcript = play([GOOD, SCORE, BAD, SCORE])
    (sample,) = read_eval_log(str(transcript)).samples or []
    (final,) = (sample.scores or {}).values()
    assert final.value == pytest.approx((41 - 2) / 41, abs=1e-3)
    assert final.metadata is not None and final.metadata["seq"] == 1


def test_without_anchors_scores_are_raw(play: Play) -> None:
    from inspect_ai.log import read_eval_log

    _, transcript = play([GOOD, SCORE])
    (sample,) = read_eval_log(str(transcript)).samples or []
    (final,) = (sample.scores or {}).values()
    assert final.value == 2.0 and (final.metadata or {})["scale"] == "raw"


def test_time_also_ends_a_command(play: Play) -> None:
    command = {"do": "run", "command": "sleep 600 & sleep 601"}
    attempt, _ = play([GOOD, SCORE, command], time_limit_s=2)
    assert attempt.record.ended == "budget" and attempt.record.usage.wall_s < 5


def test_a_score_asked_for_in_time_counts(play: Play) -> None:
    slow = {"profile": "slow", "time_limit_s": 2}
    attempt, _ = play([{"do": "wait", "seconds": 1.2}, GOOD, SCORE, SCORE], **slow)
    assert raws(attempt) == [41.0, 2.0]
    late = attempt.entries[1]
    assert late.requested_at_s < 2.0 < late.elapsed_s
    best = best_at(attempt.entries, _scale(), 2.0)
    assert best is not None and best.seq == 1


def _scale():  # type: ignore[no-untyped-def]
    from openrebench.core.catalog import find_card

    return find_card("guess_number").score.scale(41.0, 0.0)


def test_an_invalid_submission_is_told_why(play: Play, tmp_path: Path) -> None:
    told = tmp_path / "told.jsonl"
    steps = [{"do": "run", "command": "rm solution.py"}, SCORE]
    attempt, _ = play(steps, agent_args={"acknowledge": str(told)})
    assert attempt.entries[1].outcome == "invalid"
    text = json.loads(told.read_text())["text"]
    assert text == "invalid (missing_file): the submission has no *.py"


def test_scores_and_logs_hide_what_is_hidden(play: Play, anchors: Anchors, tmp_path: Path) -> None:
    told = tmp_path / "told.jsonl"
    look = {"do": "run", "command": f"grep -rs {CANARY} / --exclude-dir=proc --exclude-dir=usr"}
    attempt, transcript = play([GOOD, look, SCORE], agent_args={"acknowledge": str(told)})
    assert attempt.entries[1].details == {"hidden": 42}
    from inspect_ai.log import read_eval_log

    log = read_eval_log(str(transcript)).model_dump_json()
    assert '"hidden":42' not in log.replace(" ", "")
    assert log.count(CANARY) == log.count(f"grep -rs {CANARY}")  # in our command, in no output
    assert json.loads(told.read_text())["text"] == (
        "scored: 2.0 points, normalised 0.951 (start 0, reference 1)\noff by 2"
    )


def test_the_workspace_is_what_is_scored(play: Play) -> None:
    look = {"do": "run", "command": "cat solution.py && ls instructions.md scoring/environment.py"}
    attempt, _ = play([look, GOOD, SCORE])
    assert (attempt.folder / "workspace" / "solution.py").read_text() == "NUMBER = 40\n"
    assert attempt.entries[1].raw == 2.0


def test_a_model_with_the_default_agent(tmp_path: Path, anchors: Anchors) -> None:
    attempt = with_model(tmp_path, MODEL_SCRIPT)
    assert raws(attempt) == [41.0, 2.0] and attempt.record.ended == "submitted"
    record = attempt.record
    assert (record.solver.name, record.solver.model) == ("react", "scripted/x")
    assert record.usage.input_tokens == 50 and record.usage.output_tokens == 25
    assert record.usage.cost_usd is None
    results = tool_results(attempt.folder / "transcript.eval")
    assert results["score"].startswith("scored: 2.0 points")
    assert results["time_left"].endswith("s left of 1m")
    assert "#0 at 0 s (starting solution): scored: 41.0 points" in results["score_log"]


def tool_results(transcript: Path) -> dict[str, str]:
    from inspect_ai.log import read_eval_log
    from inspect_ai.model import ChatMessageTool

    (sample,) = read_eval_log(str(transcript)).samples or []
    messages = [m for m in sample.messages if isinstance(m, ChatMessageTool)]
    return {str(m.function): m.text for m in messages}


@pytest.mark.parametrize(
    "limits", [{"token_limit": 40}, {"message_limit": 8}, {"turn_limit": 3}], ids=str
)
def test_other_limits_keep_the_best(tmp_path: Path, limits: dict[str, float]) -> None:
    attempt = with_model(tmp_path, MODEL_SCRIPT, limits=limits)
    assert attempt.record.ended == "budget" and raws(attempt) == [41.0, 2.0]


def test_several_attempts_have_a_transcript_each(tmp_path: Path) -> None:
    steps = tmp_path / "steps.json"
    steps.write_text(json.dumps([GOOD, SCORE]))
    folders = run_attempts(
        ["guess_number"],
        agent="scripted",
        agent_args={"steps": str(steps)},
        time_limit_s=60,
        attempts=3,
        parallel=3,
        root=tmp_path / "attempts",
    )
    assert len(set(folders)) == 3
    assert {len(compat.score_metadata(f / "transcript.eval")) for f in folders} == {1}
    left = [p.name for p in (tmp_path / "attempts").iterdir() if p.is_dir()]
    assert sorted(left) == sorted(f.name for f in folders)


def test_what_can_not_run_is_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(ReBenchError, match="no profile 'huge'"):
        run_attempts(["guess"], agent="scripted", profile="huge", time_limit_s=1, root=tmp_path)
    for wrong, told in (
        ({"agent": "nope"}, "agent 'nope' can't be used: Unknown solver"),
        ({"agent": "scripted"}, "missing 1 required positional argument: 'steps'"),
        ({"agent": "react", "model": "nope/x"}, "model 'nope/x' can't be used"),
        ({"agent": "react", "agent_args": {"x": 1}}, "agent 'react' can't be used"),
        (
            {"agent": "react", "model": "scripted/x", "fuses": Fuses(max_cost_usd=1.0)},
            "--max-cost needs the price of 'scripted/x', which is unknown",
        ),
    ):
        with pytest.raises(ReBenchError, match=told):
            run_attempts(["guess"], time_limit_s=1, root=tmp_path, **wrong)
    with pytest.raises(ReBenchError, match="no environment named 'gues_number'"):
        run_attempts(["gues_number"], agent="scripted", time_limit_s=1, root=tmp_path)


def test_waiting_for_another_score_costs_no_time(play: Play) -> None:
    def score_meanwhile() -> None:
        while not any(attempt.clock.used_s() > 0 for attempt in live.all_open()):
            time.sleep(0.01)
        with exclusive():
            time.sleep(3)

    other = threading.Thread(target=score_meanwhile)
    other.start()
    attempt, _ = play([{"do": "wait", "seconds": 0.5}, GOOD, SCORE])
    other.join()
    usage = attempt.record.usage
    assert usage.wall_s > 3.0 and usage.working_s < usage.wall_s - 1.5
    assert raws(attempt) == [41.0, 2.0]
    assert attempt.entries[1].requested_at_s < 2.0 and attempt.entries[1].seconds < 2.0


@pytest.mark.parametrize(
    ("scoring", "is_time", "stands"),
    [("counted", False, False), ("counted", True, True), ("free", False, True)],
)
def test_work_in_the_background_while_a_score_is_taken(
    play: Play, monkeypatch: pytest.MonkeyPatch, scoring: str, is_time: bool, stands: bool
) -> None:
    monkeypatch.setattr(ScoreSpec, "is_time", is_time)
    ticking = "while :; do echo >> ticks; sleep 0.02; done > /dev/null 2>&1 &"
    count = "wc -l < ticks >> counts; true"
    steps = [
        GOOD,
        {"do": "run", "command": f"{ticking} sleep 0.3"},
        {"do": "run", "command": count},
        SCORE,
        {"do": "run", "command": count},
    ]
    attempt, _ = play(steps, profile="slow", scoring=scoring)  # a score takes 1.5 s
    before, after = map(int, (attempt.folder / "workspace" / "counts").read_text().split())
    assert (after - before < 15) == stands
    usage = attempt.record.usage
    assert (usage.working_s < usage.wall_s - 1.4) == (scoring == "free")
    assert raws(attempt) == [41.0, 2.0]
