"""Scores of start and reference on few questions, flags, and what a workspace holds."""

import json
import shutil
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")

from safetensors.torch import load_file  # noqa: E402

from openrebench.core.card import Profile  # noqa: E402
from openrebench.core.environment import Environment  # noqa: E402
from openrebench.core.result import Outcome, ScoreResult  # noqa: E402
from openrebench.core.scoring import score_submission  # noqa: E402
from openrebench.core.seed import Seed  # noqa: E402
from openrebench.core.service import journal_of, scoring  # noqa: E402
from openrebench.core.workspace import stage  # noqa: E402
from openrebench.environments.gpt2_qa import environment as module  # noqa: E402
from openrebench.environments.gpt2_qa import sources  # noqa: E402
from openrebench.environments.gpt2_qa.contest import Contest  # noqa: E402
from openrebench.isolation.local import LocalRunner  # noqa: E402

START = sources.HERE / "agent"


def score(environment: Environment, folder: Path, runner: LocalRunner, **more: bool) -> ScoreResult:
    return score_submission(environment, folder, "small", runner, **more)


def test_start_and_reference(gpt2_qa: Environment, runner: LocalRunner) -> None:
    start = score(gpt2_qa, START, runner)
    reference = score(gpt2_qa, gpt2_qa.reference("small"), runner)
    assert start.outcome is reference.outcome is Outcome.SCORED
    assert start.flags == reference.flags == ()
    assert 0.4 < start.details["win_vs_base"] < 0.6  # type: ignore[operator]
    assert (reference.raw or 0) > (start.raw or 0) + 0.25
    low, high = reference.details["interval_95"]  # type: ignore[misc]
    assert low < (reference.raw or 0) < high


def test_the_official_score_has_questions_of_its_own(
    gpt2_qa: Environment, runner: LocalRunner, profile: Profile
) -> None:
    assert gpt2_qa.has_final_split
    result = score(gpt2_qa, START, runner, final=True)
    assert result.outcome is Outcome.SCORED and result.details["split"] == "final"
    splits = [{p.question for p in sources.pairs(profile, s)} for s in ("dev", "score", "final")]
    assert sum(map(len, splits)) == len(set.union(*splits))


def test_a_workspace_holds_questions_and_no_answers(gpt2_qa: Environment, tmp_path: Path) -> None:
    workspace = tmp_path / "workspace"
    stage(gpt2_qa, "small", workspace, seed=Seed.fresh())
    profile = gpt2_qa.card.profile("small")
    lines = (workspace / "prompts.jsonl").read_text().splitlines()
    assert [json.loads(line)["question"] for line in lines] == [
        pair.question for pair in sources.pairs(profile, "dev")
    ]
    files = [p for p in workspace.rglob("*") if p.is_file() and p.suffix != ".safetensors"]
    given = b"".join(p.read_bytes() for p in files)
    for split in ("score", "final"):
        for pair in sources.pairs(profile, split):
            assert pair.question.encode() not in given and pair.answer.encode() not in given
    assert not any(p.answer.encode() in given for p in sources.pairs(profile, "dev")[:500])
    base = load_file(workspace / "base_model.safetensors")
    assert all(torch.equal(v, base[k]) for k, v in load_file(START / "model.safetensors").items())
    names = json.loads((workspace / "vocabulary.json").read_text())
    first = json.loads(lines[0])
    assert "".join(names[t] for t in first["tokens"]) == f"Question: {first['question']}\nAnswer:"


def flags(
    profile: Profile, rate: float, rows: list[dict[str, object]], **more: object
) -> list[str]:
    found = Contest(
        rates={"base": rate}, by_question=[rate, rate], by_pass=[rate],
        broken=more.get("broken", {}), answers=10,  # type: ignore[arg-type]
    )  # fmt: skip
    journal = type("Journal", (), {"rows": lambda self: rows})()
    return module._flags(found, 0.9, profile, journal, changed=bool(more.get("changed")))


def test_flags_name_what_a_person_should_look_at(profile: Profile) -> None:
    asked = [{"event": "judged", "comparisons": 5000}]
    assert flags(profile, 0.5, asked, changed=True) == []
    (above,) = flags(profile, 0.95, asked)
    assert above.startswith("above_right_answers")
    (canned,) = flags(profile, 0.5, asked, broken={"canned": 8})
    assert canned.startswith("canned: 80%")
    (calls,) = flags(profile, 0.5, [*asked, {"event": "refused", "comparisons": 64}])
    assert calls.startswith("judge_calls: 64 comparisons were asked beyond the")
    (none,) = flags(profile, 0.5, [], changed=True)
    assert none.startswith("no_preferences")
    assert flags(profile, 0.5, []) == []  # the start itself


def test_a_score_call_reads_its_attempts_journal(
    gpt2_qa: Environment, runner: LocalRunner, tmp_path: Path
) -> None:
    submission = tmp_path / "submission"
    shutil.copytree(gpt2_qa.reference("small"), submission)
    journal = journal_of(gpt2_qa, tmp_path)  # type: ignore[arg-type]
    with scoring(tmp_path):
        unasked = score(gpt2_qa, submission, runner)
        journal.append({"event": "judged", "comparisons": 40_000})
        journal.append({"event": "refused", "comparisons": 1})
        asked = score(gpt2_qa, submission, runner)
    assert [flag.split(":")[0] for flag in unasked.flags] == ["no_preferences"]
    assert [flag.split(":")[0] for flag in asked.flags] == ["judge_calls"]
    assert "40000 of 40000 comparisons used" in asked.message
