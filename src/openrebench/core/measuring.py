"""Measure an environment's anchors on this machine."""

import math
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from multiprocessing import get_context
from pathlib import Path
from typing import NamedTuple

from openrebench.core.anchors import MIN_RUNS, MIN_SLOW_RUNS, SLOW_S, Anchors, fewest_runs
from openrebench.core.environment import Environment
from openrebench.core.result import ScoreResult
from openrebench.core.scoring import score_submission
from openrebench.core.seed import Seed
from openrebench.core.versions import installed_versions
from openrebench.core.workspace import stage
from openrebench.errors import ReBenchError, ScoringError
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
        ReBenchError: There are too few runs; told before more than one score call is spent.
        ScoringError: A start or reference run did not give a valid score.
    """
    _check_runs(runs, math.inf)
    raws: dict[str, list[float]] = {name: [] for name in SOLUTIONS}
    seconds = []
    for k in range(runs):
        for index, name in enumerate(SOLUTIONS):
            with _solution(environment, name, profile) as path, _busy_core(loaded=k % 2 == 1):
                result = _score(environment, path, profile, runner)
            raws[name].append(result.raw or 0.0)
            seconds.append((name, result.seconds))
            _check_runs(runs, seconds[0][1])
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


def _check_runs(runs: int, score_call_s: float) -> None:
    fewest = fewest_runs(score_call_s)
    if runs < fewest:
        raise ReBenchError(
            f"{runs} runs of start and reference are too few; anchors need at least {fewest} of "
            f"each ({MIN_RUNS}, or {MIN_SLOW_RUNS} where a score call takes over {SLOW_S:g} s)"
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
