"""The trainer itself: equal seeds, equal losses; its process; the whole way from a sandbox."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from openrebench.core.catalog import load_environment
from openrebench.core.own_attempt import start_own_attempt
from openrebench.core.seed import Seed
from openrebench.core.service import Door, Journal, open_door
from openrebench.core.workspace import stage
from openrebench.environments.scaling_law.experiments import Experiments
from openrebench.environments.scaling_law.recipe import Family
from openrebench.environments.scaling_law.tests.fakes import Instant
from openrebench.environments.scaling_law.training_process import Job, TrainingProcess
from openrebench.errors import ScoringError
from openrebench.isolation.local import LocalRunner
from openrebench.isolation.runner import Limits

pytest.importorskip("torch")
ENVIRONMENT = load_environment("scaling_law")
PROFILE = ENVIRONMENT.card.profile("small")
FAMILY = Family.of(PROFILE)


def job(**changed: int) -> Job:
    sizes = {"n_embd": 8, "max_iters": 20, "seed": 1, **changed}
    return Job(family=FAMILY, rate=0.03, device="cpu", **sizes)


def test_a_job_is_read_back_as_it_was_written() -> None:
    assert Job.from_json(job().to_json()) == job()


def test_equal_seeds_give_equal_losses_and_others_do_not() -> None:
    process = TrainingProcess()
    try:
        first, again, other = (process.train(j) for j in (job(), job(), job(seed=2)))
    finally:
        process.close()
    assert first == again != other
    assert 5 < first < 8
    with pytest.raises(ScoringError, match="closed"):
        process.train(job())


def test_the_client_in_a_sandbox_reaches_the_trainer(tmp_path: Path, runner: LocalRunner) -> None:
    workspace = tmp_path / "workspace"
    stage(ENVIRONMENT, "small", workspace, seed=Seed.fresh())
    command = "python -m experiments run --n-embd 8 --max-iters 20 --seed 1 && "
    command += "python -m experiments history && python -m experiments run --n-embd 9 --max-iters 1"
    door = open_door(ENVIRONMENT, PROFILE, tmp_path, workspace)
    assert door is not None
    with door:
        done = runner.run(
            ["sh", "-c", command], workspace=workspace, limits=Limits(call_timeout_s=60)
        )
    ran, history, refused = done.output.decode().splitlines()
    assert json.loads(history)[0]["loss"] == json.loads(ran)["loss"]
    assert refused == "refused: n_embd must be a multiple of 8" and done.returncode == 1
    assert len(Journal(tmp_path / "runs.jsonl").rows()) == 2


def test_a_door_works_below_a_long_path(tmp_path: Path, runner: LocalRunner) -> None:
    workspace = tmp_path / ("long" * 30)
    stage(ENVIRONMENT, "small", workspace, seed=Seed.fresh())
    service = Experiments(PROFILE, Journal(tmp_path / "runs.jsonl"), trainer=Instant())
    with Door(service, workspace):
        done = runner.run(
            ["python", "-m", "experiments", "left"],
            workspace=workspace,
            limits=Limits(call_timeout_s=60),
        )
    assert json.loads(done.output)["flop_used"] == 0


@pytest.mark.slow
def test_the_reference_solves_it_from_scratch(tmp_path: Path) -> None:
    """Within the allowance, and near its stored answer: the noise is in the machine's rounding."""
    from openrebench.environments.scaling_law.answers import read_answer
    from openrebench.environments.scaling_law.hidden.reference.run import run

    answer = read_answer(run(tmp_path).parent, PROFILE)
    stored = read_answer(ENVIRONMENT.card.folder / "hidden/reference", PROFILE)
    assert abs(answer.loss_prediction - stored.loss_prediction) < 0.03
    assert abs(answer.n_embd - stored.n_embd) <= 8


def test_an_attempt_of_ones_own_has_a_door_too(tmp_path: Path, runner: LocalRunner) -> None:
    """Without a sandbox: the client on the host reaches the same metered trainer."""
    workspace = tmp_path / "here"
    attempt, entry = start_own_attempt(ENVIRONMENT, "small", workspace, tmp_path / "all", runner)
    assert entry.raw is not None
    door = open_door(ENVIRONMENT, PROFILE, attempt, workspace)
    assert door is not None
    with door:
        command = [sys.executable, "-m", "experiments", "left"]
        done = subprocess.run(command, cwd=workspace, capture_output=True, check=True, text=True)
    assert json.loads(done.stdout)["runs_left"] == 200


def test_other_environments_have_no_door(tmp_path: Path) -> None:
    other = load_environment("prefix_sum")
    assert open_door(other, other.card.profile("small"), tmp_path, tmp_path) is None
