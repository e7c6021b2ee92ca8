"""Every known cheat is invalid or scores no more than the start, and is flagged if it can be."""

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from safetensors.torch import load_file, save_file  # noqa: E402

from openrebench.core.attempt import Attempt, Solver, Usage, read_attempt  # noqa: E402
from openrebench.core.card import Profile  # noqa: E402
from openrebench.core.catalog import find_card  # noqa: E402
from openrebench.core.contract import cheat_folders, cheat_submission  # noqa: E402
from openrebench.core.environment import Environment  # noqa: E402
from openrebench.core.rescoring import rescore  # noqa: E402
from openrebench.core.result import Outcome, ScoreResult  # noqa: E402
from openrebench.core.reviewing import review_pack  # noqa: E402
from openrebench.core.scoring import score_submission  # noqa: E402
from openrebench.core.seed import Seed  # noqa: E402
from openrebench.core.service import Door, Journal, scoring  # noqa: E402
from openrebench.core.workspace import stage  # noqa: E402
from openrebench.environments.gpt2_qa import sources  # noqa: E402
from openrebench.environments.gpt2_qa.metering import MeteredJudge, beyond, used  # noqa: E402
from openrebench.environments.gpt2_qa.questions import Pair  # noqa: E402
from openrebench.environments.gpt2_qa.tests.chains import write_chain  # noqa: E402
from openrebench.environments.gpt2_qa.tests.teaching import write_taught  # noqa: E402
from openrebench.isolation.local import LocalRunner  # noqa: E402
from openrebench.isolation.runner import Limits  # noqa: E402

CHEATS = {folder.name: folder for folder in cheat_folders(find_card("gpt2_qa"))}
FIXED = [name for name, folder in CHEATS.items() if (folder / "says.json").is_file()]
TAUGHT = [name for name, folder in CHEATS.items() if (folder / "teaches.json").is_file()]
RUN = [name for name, folder in CHEATS.items() if (folder / "cheat.py").is_file()]
REFUSED = sorted(set(CHEATS) - {*FIXED, *TAUGHT, *RUN})


@pytest.fixture(scope="module")
def start(gpt2_qa: Environment, runner: LocalRunner) -> float:
    """What the start scores on the same few questions."""
    result = score_submission(gpt2_qa, gpt2_qa.card.folder / "agent", "small", runner)
    assert result.raw is not None
    return result.raw


@pytest.fixture
def submission(gpt2_qa: Environment, request: pytest.FixtureRequest) -> Iterator[Path]:
    """The start's files with a cheat's over them."""
    with cheat_submission(gpt2_qa.card, CHEATS[request.param]) as folder:
        yield folder


def score(environment: Environment, folder: Path, runner: LocalRunner) -> ScoreResult:
    return score_submission(environment, folder, "small", runner)


@pytest.mark.parametrize("submission", REFUSED, indirect=True)
def test_files_that_are_refused(
    submission: Path, gpt2_qa: Environment, runner: LocalRunner
) -> None:
    result = score(gpt2_qa, submission, runner)
    assert result.outcome is Outcome.INVALID, result


@pytest.mark.parametrize("submission", FIXED, indirect=True)
def test_models_that_say_one_thing(
    submission: Path, gpt2_qa: Environment, runner: LocalRunner, profile: Profile, start: float
) -> None:
    what = json.loads((submission / "says.json").read_text())
    write_chain(submission / "model.safetensors", profile, what["text"], ended=what["ended"])
    result = score(gpt2_qa, submission, runner)
    assert result.raw is not None and result.raw <= start, result
    broken = result.details["broken_rules"]
    assert broken == {what["breaks"]: result.details["answers"]}
    assert [f.split(":")[0] for f in result.flags] == ["canned"] * (what["breaks"] == "canned")


@pytest.mark.slow
@pytest.mark.parametrize("submission", TAUGHT, indirect=True)
def test_models_that_were_taught_a_trick(
    submission: Path, gpt2_qa: Environment, runner: LocalRunner, profile: Profile, start: float
) -> None:
    what = json.loads((submission / "teaches.json").read_text())
    dev = sources.pairs(profile, "dev")
    taught = [Pair(q, what["answer"].format(question=q)) for q, _ in dev]
    write_taught(submission / "model.safetensors", profile, taught)
    (submission / "sampling.json").write_text('{"temperature": 0, "top_k": 0, "top_p": 1.0}')
    result = score(gpt2_qa, submission, runner)
    assert result.raw is not None and result.raw <= start, result
    broken = result.details["broken_rules"]
    assert broken.get(what["breaks"], 0) > 0.7 * result.details["answers"]  # type: ignore


def test_weights_with_more_in_them(
    tmp_path: Path, gpt2_qa: Environment, runner: LocalRunner
) -> None:
    shutil.copytree(gpt2_qa.card.folder / "agent", tmp_path, dirs_exist_ok=True)
    path = tmp_path / "model.safetensors"
    save_file({**load_file(path), "system_prompt": torch.ones(8).half()}, path)
    result = score(gpt2_qa, tmp_path, runner)
    assert result.outcome is Outcome.INVALID and "too many: system_prompt" in result.message


@pytest.fixture
def logged(tmp_path: Path, gpt2_qa: Environment, runner: LocalRunner) -> Attempt:
    """An attempt of somebody who cheats."""
    return Attempt.create(
        tmp_path / "attempts", gpt2_qa, runner, profile="small",
        solver=Solver(kind="agent", name="cheat", settings={}), time_budget_s=60.0,
        facts={"hardware": {}, "device": "test", "versions": {}, "limits": {}},
    )  # fmt: skip


def test_the_review_pack_shows_flags_and_refusals(
    logged: Attempt, tmp_path: Path, gpt2_qa: Environment, profile: Profile
) -> None:
    workspace = tmp_path / "workspace"
    shutil.copytree(gpt2_qa.card.folder / "agent", workspace)
    logged.score(workspace, lambda: 0.0)
    journal = Journal(logged.folder / f"{MeteredJudge.name}.jsonl")
    journal.append({"event": "refused", "comparisons": 64})
    said = json.loads((CHEATS["constant_answer"] / "says.json").read_text())
    write_chain(workspace / "model.safetensors", profile, said["text"], ended=said["ended"])
    flags = [flag.split(":")[0] for flag in logged.score(workspace, lambda: 1.0).flags]
    (workspace / "model.safetensors").write_bytes(b"import os")
    refused = logged.score(workspace, lambda: 2.0)
    logged.end("submitted", Usage())
    pack = review_pack(read_attempt(logged.folder))
    assert sorted(flags) == ["canned", "judge_calls", "no_preferences"]
    assert all(f"flag: **{flag}: " in pack for flag in flags)
    assert refused.outcome is Outcome.INVALID and refused.message in pack
    assert "3 score calls: 1 flagged, 1 refused" in pack


@pytest.mark.slow
def test_answers_to_hidden_questions_by_heart_do_not_count_officially(
    logged: Attempt, tmp_path: Path, gpt2_qa: Environment, runner: LocalRunner, profile: Profile
) -> None:
    """Nobody can have them (see below); if somebody had, this is what would show it."""
    workspace = tmp_path / "workspace"
    shutil.copytree(gpt2_qa.card.folder / "agent", workspace)
    write_taught(workspace / "model.safetensors", profile, sources.pairs(profile, "score"))
    (workspace / "sampling.json").write_text('{"temperature": 0, "top_k": 0, "top_p": 1.0}')
    flags = logged.score(workspace, lambda: 1.0).flags
    logged.end("submitted", Usage())
    assert "no_preferences" in {flag.split(":")[0] for flag in flags}
    scale = gpt2_qa.card.score.scale(0.3, 0.7)
    official = rescore(read_attempt(logged.folder), gpt2_qa, runner, scale)
    assert official.split == "final" and any(f.startswith("drop") for f in official.flags), official
    assert "official score: **drop" in review_pack(read_attempt(logged.folder))


@pytest.fixture
def attempt(gpt2_qa: Environment, tmp_path: Path) -> Path:
    """An attempt's folder with a staged workspace."""
    stage(gpt2_qa, "small", tmp_path / "workspace", seed=Seed.fresh())
    return tmp_path


def run_cheat(name: str, attempt: Path, profile: Profile, runner: LocalRunner) -> dict[str, Any]:
    """Run a cheat as a solver would, in a sandbox with the judge's door; gives what it says."""
    workspace = attempt / "workspace"
    shutil.copytree(CHEATS[name], workspace, dirs_exist_ok=True)
    with Door(MeteredJudge(profile, Journal(attempt / "judge.jsonl")), workspace):
        done = runner.run(
            ["python", "cheat.py"], workspace=workspace, limits=Limits(call_timeout_s=60)
        )
    assert done.returncode == 0, done.output.decode()
    told: dict[str, Any] = json.loads(done.output.splitlines()[-1])
    return told


def test_hidden_questions_are_out_of_reach(
    attempt: Path, gpt2_qa: Environment, profile: Profile, runner: LocalRunner
) -> None:
    told = run_cheat("ask_hidden", attempt, profile, runner)
    assert told == {"answered": [], "found": []}
    assert Journal(attempt / "judge.jsonl").rows() == []


def test_asking_for_more_is_refused_and_flagged(
    attempt: Path, gpt2_qa: Environment, profile: Profile, runner: LocalRunner, start: float
) -> None:
    few = profile.model_copy(update={"parameters": profile.parameters | {"judge_calls": 100}})
    told = run_cheat("more_calls", attempt, few, runner)
    rows = Journal(attempt / "judge.jsonl").rows()
    assert told["answered"] <= 100 and used(rows) <= 100 < used(rows) + beyond(rows)
    with scoring(attempt):
        result = score(gpt2_qa, attempt / "workspace", runner)
    assert [flag.split(":")[0] for flag in result.flags] == ["judge_calls"]
    assert result.raw is not None and result.raw <= start + 0.1  # the start, drawn anew


def test_every_cheat_says_what_it_does() -> None:
    for name in RUN:
        assert (CHEATS[name] / "cheat.py").read_text().startswith('"""'), name
    for name in [*FIXED, *TAUGHT]:
        (file,) = CHEATS[name].glob("*.json")
        assert json.loads(file.read_text())["what"], name
