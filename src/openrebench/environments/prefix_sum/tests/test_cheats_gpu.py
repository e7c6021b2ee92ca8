"""Every known GPU cheat is invalid or gains nothing, against honest times of the same session."""

import subprocess
import time
from pathlib import Path

import pytest

from openrebench.core.catalog import load_environment
from openrebench.core.contract import cheat_submission
from openrebench.core.environment import Environment
from openrebench.core.result import Outcome, ScoreResult
from openrebench.core.scoring import score_submission
from openrebench.isolation.device import processes_on_gpu
from openrebench.isolation.local import LocalRunner

pytestmark = pytest.mark.gpu

CHEATS = sorted(path for path in (Path(__file__).parent / "cheats_gpu").iterdir())
MUST_BE_INVALID = {
    "cached_by_pointer", "graph_replay", "stale_output", "uninitialised_memory", "spinning_tail",
}  # fmt: skip
CLEARLY_FASTER = 0.97  # two scores of the start differ by less


@pytest.fixture(scope="module")
def environment() -> Environment:
    return load_environment("prefix_sum")


@pytest.fixture(scope="module")
def honest(environment: Environment, runner: LocalRunner) -> ScoreResult:
    return score_submission(environment, environment.card.folder / "agent", "gpu", runner)


@pytest.mark.parametrize("cheat", CHEATS, ids=lambda path: path.name)
def test_a_gpu_cheat_gains_nothing(
    cheat: Path, environment: Environment, runner: LocalRunner, honest: ScoreResult
) -> None:
    with cheat_submission(environment.card, cheat) as folder:
        result = score_submission(environment, folder, "gpu", runner)
    print(cheat.name, result.outcome, result.raw, result.flags, result.message)
    assert result.outcome is not Outcome.ERROR
    if cheat.name in MUST_BE_INVALID:
        assert result.outcome is Outcome.INVALID, result.message
    if result.raw is not None:
        assert honest.raw is not None
        assert result.raw > CLEARLY_FASTER * honest.raw


def test_patched_events_are_flagged(environment: Environment, runner: LocalRunner) -> None:
    with cheat_submission(environment.card, CHEATS[0].parent / "patched_events") as folder:
        result = score_submission(environment, folder, "gpu", runner)
    assert any(flag.startswith("events:") for flag in result.flags)


def test_no_job_survives_a_score(environment: Environment, runner: LocalRunner) -> None:
    before = processes_on_gpu()
    with cheat_submission(environment.card, CHEATS[0].parent / "jobs_left_running") as folder:
        score_submission(environment, folder, "gpu", runner)
    time.sleep(2)
    assert processes_on_gpu() <= before


def test_other_processes_on_the_gpu_are_flagged(
    environment: Environment, runner: LocalRunner
) -> None:
    burn = "import torch; a = torch.ones(64, device='cuda'); print(1, flush=True); input()"
    with subprocess.Popen(
        ["python3", "-c", burn], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as other:
        assert other.stdout is not None
        other.stdout.readline()
        result = score_submission(environment, environment.card.folder / "agent", "gpu", runner)
        other.kill()
    assert any(flag.startswith("nvml:") for flag in result.flags)
