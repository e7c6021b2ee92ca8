"""Measure an environment's anchors on this machine."""

import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from multiprocessing import get_context
from pathlib import Path
from typing import NamedTuple

from openrebench.core.anchors import MIN_RUNS, Anchors
from openrebench.core.environment import Environment
from openrebench.core.result import ScoreResult
from openrebench.core.scoring import score_submission
from openrebench.core.seed import Seed
from openrebench.core.versions import installed_versions
from openrebench.core.workspace import stage
from openrebench.errors import ScoringError
from openrebench.isolation.device import device_fingerprint
from openrebench.isolation.runner import Runner

SOLUTIONS = ("start", "reference")
CONDITIONS = "every second run beside one process that keeps one core busy"


class Progress(NamedTuple):
    """One finished run out of all."""

    done: int
    total: int
    result: ScoreResult


def measure_anchors(
    environment: Environment,
    profile: str,
    runner: Runner,
    *,
    runs: int = MIN_RUNS + 1,
    on_progress: Callable[[Progress], None] = lambda _: None,
) -> Anchors:
    """Score start and reference several times, half of the time beside a busy core.

    The load makes the spread an honest one: it is what scores meet on a machine in use. So does
    the start, which is a fresh workspace in each run, as an attempt would find it.

    Args:
        environment: Whose anchors.
        profile: At which size.
        runner: Runs the submissions.
        runs: Runs of each solution, at least 5, or 3 where a score call takes over a minute.
        on_progress: Told after each run.

    Raises:
        ScoringError: A start or reference run did not give a valid score.
    """
    raws: dict[str, list[float]] = {name: [] for name in SOLUTIONS}
    seconds = []
    for k in range(runs):
        for index, name in enumerate(SOLUTIONS):
            with _solution(environment, name, profile) as path, _busy_core(loaded=k % 2 == 1):
                result = _score(environment, path, profile, runner)
            raws[name].append(result.raw or 0.0)
            seconds.append((name, result.seconds))
            on_progress(Progress(2 * k + index + 1, 2 * runs, result))
    device = device_fingerprint(environment.card.profile(profile).device)
    return Anchors(
        environment=environment.card.id,
        version=environment.card.version,
        profile=profile,
        device=device.slug,
        unit=environment.card.score.unit,
        start=tuple(raws["start"]),
        reference=tuple(raws["reference"]),
        score_call_s=round(max(s for name, s in seconds if name == "start"), 2),
        hardware=device.facts(),
        versions=installed_versions(),
        isolation=str(runner.mode),
        conditions=CONDITIONS,
        **_final_anchors(environment, profile, runner),
    )


def _final_anchors(environment: Environment, profile: str, runner: Runner) -> dict[str, float]:
    """Score both once on the final split, where there is one."""
    found = {}
    for name in SOLUTIONS if environment.has_final_split else ():
        with _solution(environment, name, profile) as path:
            raw = _score(environment, path, profile, runner, final=True).raw
        found[f"final_{name}"] = raw or 0.0
    return found


@contextmanager
def _solution(environment: Environment, name: str, profile: str) -> Iterator[Path]:
    if name == "reference":
        yield environment.reference(profile)
        return
    with tempfile.TemporaryDirectory(prefix="openrebench-start-") as folder:
        workspace = Path(folder) / "workspace"
        stage(environment, profile, workspace, seed=Seed.fresh())
        yield workspace


def _score(
    environment: Environment, folder: Path, profile: str, runner: Runner, *, final: bool = False
) -> ScoreResult:
    result = score_submission(environment, folder, profile, runner, final=final)
    if result.raw is None:
        raise ScoringError(
            f"{environment.card.label(profile)}: {folder.name}/ gave {result.outcome} "
            f"({result.message}); anchors need valid scores"
        )
    return result


@contextmanager
def _busy_core(*, loaded: bool) -> Iterator[None]:
    if not loaded:
        yield
        return
    process = get_context("spawn").Process(target=_spin, daemon=True)
    process.start()
    try:
        yield
    finally:
        process.kill()
        process.join()


def _spin() -> None:
    while True:
        pass
