"""Attempts that a person or a script makes on the host, one `re-bench score` at a time.

The workspace holds a marker file that names its attempt. The marker is the solver's to edit,
and only says where to append; it can't change a score.
"""

import json
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

from openrebench.core.attempt import RECORD, Attempt, Solver, read_attempt
from openrebench.core.card import TaskCard
from openrebench.core.catalog import load_environment
from openrebench.core.environment import Environment
from openrebench.core.reading import attempt_facts
from openrebench.core.score_log import ScoreEntry
from openrebench.core.seed import Seed
from openrebench.core.service import Entrance, open_door
from openrebench.core.workspace import stage
from openrebench.errors import AttemptError
from openrebench.isolation.runner import Runner

MARKER = ".re-bench.json"
ANONYMOUS = "anonymous"  # records are published; `re-bench human start` takes a pseudonym


class OwnScore(NamedTuple):
    """A score, and what it was a score of."""

    entry: ScoreEntry
    card: TaskCard
    profile: str


def start_own_attempt(
    environment: Environment, profile: str, workspace: Path, root: Path, runner: Runner
) -> tuple[Path, ScoreEntry]:
    """Stage a workspace, open an attempt for it and score the starting solution.

    Returns:
        The attempt's folder, and the entry of the starting solution.
    """
    stage(environment, profile, workspace, seed=Seed.fresh())
    attempt = Attempt.create(
        root,
        environment,
        runner,
        profile=profile,
        solver=Solver(kind="human", name=ANONYMOUS),
        time_budget_s=None,
        facts=attempt_facts(environment.card, profile),
    )
    try:
        entry = attempt.score(workspace, lambda: 0.0)
    finally:
        attempt.close()
    marker = {"attempt": str(attempt.folder.resolve())}
    (workspace / MARKER).write_text(json.dumps(marker) + "\n", encoding="utf-8")
    return attempt.folder, entry


def score_own_attempt(workspace: Path, runner: Runner) -> OwnScore:
    """Score a workspace and append to its attempt's log; the clock is wall time since the start.

    Raises:
        AttemptError: The workspace was not made by `re-bench start`.
    """
    folder = attempt_folder(workspace)
    record = read_attempt(folder).record
    environment = load_environment(record.environment)
    began = (datetime.now(UTC) - record.started_at).total_seconds() - time.monotonic()
    attempt = Attempt(folder, environment, runner)
    try:
        entry = attempt.score(workspace, lambda: began + time.monotonic())
    finally:
        attempt.close()
    return OwnScore(entry, environment.card, record.profile)


def open_own_door(workspace: Path) -> Entrance:
    """Open the door of the service that the attempt's environment offers; the caller closes it.

    Raises:
        AttemptError: The workspace was not made by `re-bench start`, or there is no service.
    """
    folder = attempt_folder(workspace)
    record = read_attempt(folder).record
    environment = load_environment(record.environment)
    door = open_door(environment, environment.card.profile(record.profile), folder, workspace)
    if door is None:
        raise AttemptError(f"{workspace}: {record.environment} offers no service")
    return door


def attempt_folder(directory: Path) -> Path:
    """Give the attempt that a folder is, or whose workspace it is.

    Raises:
        AttemptError: It is neither.
    """
    if (directory / RECORD).is_file():
        return directory
    marker = directory / MARKER
    try:
        return Path(json.loads(marker.read_text(encoding="utf-8"))["attempt"])
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise AttemptError(
            f"{directory}: belongs to no attempt; make one with re-bench start, or name the "
            "environment with --env"
        ) from error
