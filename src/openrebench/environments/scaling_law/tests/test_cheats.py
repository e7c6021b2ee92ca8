"""Every known cheat, run as a solver would in a sandbox with the trainer's door, gains nothing."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from openrebench.core.card import Profile
from openrebench.core.catalog import find_card, load_environment
from openrebench.core.contract import cheat_folders
from openrebench.core.result import Outcome
from openrebench.core.scoring import score_submission
from openrebench.core.seed import Seed
from openrebench.core.service import Door, Journal
from openrebench.core.workspace import stage
from openrebench.environments.scaling_law.experiments import Experiments, spent
from openrebench.environments.scaling_law.tests.fakes import Instant
from openrebench.isolation.local import LocalRunner
from openrebench.isolation.runner import Limits

CARD = find_card("scaling_law")
RACED = 6 * (24 * 8**2 + 2048 * 8) * 256 * 6  # FLOP of one run of race_runs
ALLOWANCE = 5.5 * RACED
Run = Callable[[str], dict[str, Any]]


@pytest.fixture
def attempt(tmp_path: Path) -> Path:
    """An attempt's folder with a staged workspace."""
    stage(load_environment("scaling_law"), "small", tmp_path / "workspace", seed=Seed.fresh())
    return tmp_path


@pytest.fixture
def profile() -> Profile:
    small = CARD.profile("small")
    return small.model_copy(update={"parameters": {**small.parameters, "allowance": ALLOWANCE}})


@pytest.fixture
def run_cheat(attempt: Path, profile: Profile, runner: LocalRunner) -> Run:
    def run(name: str) -> dict[str, Any]:
        workspace = attempt / "workspace"
        shutil.copytree(CARD.folder / "tests/cheats" / name, workspace, dirs_exist_ok=True)
        service = Experiments(profile, Journal(attempt / "runs.jsonl"), trainer=Instant())
        with Door(service, workspace):
            done = runner.run(
                ["python", "cheat.py"], workspace=workspace, limits=Limits(call_timeout_s=60)
            )
        assert done.returncode == 0, done.output.decode()
        told: dict[str, Any] = json.loads(done.output.splitlines()[-1])
        return told

    return run


def test_the_table_is_nowhere_to_be_read(run_cheat: Run) -> None:
    assert run_cheat("read_table") == {"gained": []}


def test_a_changed_client_raises_no_cap(run_cheat: Run, attempt: Path) -> None:
    assert run_cheat("raise_cap") == {"gained": []}
    assert Journal(attempt / "runs.jsonl").rows() == []


def test_racing_runs_share_one_allowance(run_cheat: Run, attempt: Path) -> None:
    told = run_cheat("race_runs")
    assert told["done"] == 5 and told["flop"] <= ALLOWANCE
    assert told["left"]["flop_used"] == 5 * RACED
    assert spent(Journal(attempt / "runs.jsonl").rows()) == (5, 5 * RACED)


def test_the_journal_is_out_of_reach(run_cheat: Run, attempt: Path) -> None:
    assert run_cheat("edit_journal") == {"refunded": 0, "answered": []}
    assert spent(Journal(attempt / "runs.jsonl").rows()) == (1, RACED)


@pytest.mark.parametrize("cheat", cheat_folders(CARD), ids=lambda folder: folder.name)
def test_what_a_cheat_submits_scores_no_more_than_the_start(
    cheat: Path, attempt: Path, run_cheat: Run, runner: LocalRunner
) -> None:
    environment = load_environment("scaling_law")
    start = score_submission(environment, attempt / "workspace", "small", runner)
    run_cheat(cheat.name)
    result = score_submission(environment, attempt / "workspace", "small", runner)
    if cheat.name == "tiny_width":
        assert result.outcome is Outcome.INVALID and "n_embd is 8" in result.message
    else:
        assert result.raw == start.raw


def test_every_cheat_says_what_it_does() -> None:
    for folder in cheat_folders(CARD):
        assert (folder / "cheat.py").read_text().startswith('"""'), folder.name
