"""What every environment must hold, checked without any model.

`re-bench check NAME` runs these while an environment is being written, and the tests run them
over every environment found. A check returns None or one sentence that says what is wrong.
"""

import hashlib
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from openrebench.core.anchors import Anchors
from openrebench.core.card import TaskCard
from openrebench.core.environment import Environment
from openrebench.core.result import Outcome, ScoreResult
from openrebench.core.scoring import score_submission
from openrebench.core.seed import Seed
from openrebench.core.workspace import INSTRUCTIONS, stage
from openrebench.errors import Reason
from openrebench.isolation.runner import Runner
from openrebench.isolation.snapshot import take

CANARY = "7f0c1e0a-5b0e-4d0b-9c43-2f6f1f4f6a51"
HANG = "import time\nwhile True:\n    time.sleep(1)\n"
CRASH = "import os\nos.abort()\n"


@dataclass(frozen=True, kw_only=True)
class Subject:
    """What a check looks at: one environment at one size on this machine."""

    environment: Environment
    profile: str
    runner: Runner
    anchors: Anchors

    @property
    def card(self) -> TaskCard:
        """The environment's card."""
        return self.environment.card

    @property
    def spread(self) -> float:
        """How far a score may lie from its anchor."""
        return self.anchors.spread(self.card)

    @contextmanager
    def staged(self) -> Iterator[Path]:
        """Give a workspace as an attempt would find it."""
        with tempfile.TemporaryDirectory() as folder:
            workspace = Path(folder) / "workspace"
            stage(self.environment, self.profile, workspace, seed=Seed.fresh())
            yield workspace

    def score(self, folder: Path) -> ScoreResult:
        """Score a folder as anybody would."""
        return score_submission(self.environment, folder, self.profile, self.runner)

    def normalised(self, result: ScoreResult) -> float | None:
        """Normalise a score; None if it is not valid."""
        scale = self.anchors.scale(self.card)
        return None if result.raw is None else scale.normalize(result.raw)


class Check(NamedTuple):
    """A named promise."""

    name: str
    run: Callable[[Subject], str | None]


class Finding(NamedTuple):
    """What a check found; `problem` is None if the promise holds."""

    name: str
    problem: str | None


def staged_holds_agent_only(subject: Subject) -> str | None:
    """The workspace holds `agent/` and what `prepare` wrote, and no canary."""
    with subject.staged() as workspace:
        given = {
            p.relative_to(subject.card.folder / "agent")
            for p in _files(subject.card.folder / "agent")
        }
        missing = [str(name) for name in given if not (workspace / name).is_file()]
        if missing or not (workspace / INSTRUCTIONS).is_file():
            return f"the workspace lacks {missing or INSTRUCTIONS}"
        leaked = [p.name for p in _files(workspace) if CANARY.encode() in p.read_bytes()]
        return f"the canary of hidden/ is in {leaked}" if leaked else None


def hidden_has_canary(subject: Subject) -> str | None:
    """Every text file under `hidden/` carries the canary line."""
    bare = []
    for path in _files(subject.card.folder / "hidden"):
        content = path.read_bytes()
        if b"\0" not in content[:4096] and CANARY.encode() not in content:
            bare.append(path.name)
    return f"hidden files without the canary line: {bare}" if bare else None


def start_scores_zero(subject: Subject) -> str | None:
    """The starting solution lies within the stated spread of 0."""
    with subject.staged() as workspace:
        result = subject.score(workspace)
    value = subject.normalised(result)
    if value is None or abs(value) > subject.spread:
        return (
            f"the starting solution scores {value} ({result.message}); spread {subject.spread:.3f}"
        )
    return None


def reference_scores_one(subject: Subject) -> str | None:
    """The reference solution lies within the stated spread of 1."""
    result = subject.score(subject.environment.reference(subject.profile))
    value = subject.normalised(result)
    if value is None or abs(value - 1) > subject.spread:
        return f"the reference scores {value} ({result.message}); spread {subject.spread:.3f}"
    return None


def cheats_gain_nothing(subject: Subject) -> str | None:
    """Every submission under `tests/cheats` is invalid, or no better than the start."""
    gained = []
    for folder in cheat_folders(subject.card):
        with cheat_submission(subject.card, folder) as submission:
            result = subject.score(submission)
        value = subject.normalised(result)
        if result.outcome is Outcome.ERROR or (value is not None and value > subject.spread):
            gained.append(f"{folder.name} ({result.outcome}, {value})")
    return f"cheats that gain: {', '.join(gained)}" if gained else None


def scoring_changes_nothing(subject: Subject) -> str | None:
    """A score call leaves the workspace as it was."""
    with subject.staged() as workspace:
        before = _digest(workspace)
        subject.score(workspace)
        return None if _digest(workspace) == before else "scoring changed the workspace"


def bad_submissions_are_invalid(subject: Subject) -> str | None:
    """An empty, a hanging and a crashing submission are `invalid`, never `error`."""
    wrong = []
    with subject.staged() as workspace:
        limit = subject.card.submission_limit(subject.profile)
        names = list(take(workspace, subject.card.submission, limit).files)
    for name, text in (("empty", None), ("hanging", HANG), ("crashing", CRASH)):
        with tempfile.TemporaryDirectory() as folder:
            for file in names if text is not None else ():
                path = Path(folder) / file
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text or "", encoding="utf-8")
            result = subject.score(Path(folder))
        expected = Reason.MISSING_FILE if text is None else result.reason
        if result.outcome is not Outcome.INVALID or result.reason is not expected:
            wrong.append(f"{name}: {result.outcome} ({result.message})")
    return "; ".join(wrong) or None


CHECKS = (
    Check("staged_holds_agent_only", staged_holds_agent_only),
    Check("hidden_has_canary", hidden_has_canary),
    Check("start_scores_zero", start_scores_zero),
    Check("reference_scores_one", reference_scores_one),
    Check("cheats_gain_nothing", cheats_gain_nothing),
    Check("scoring_changes_nothing", scoring_changes_nothing),
    Check("bad_submissions_are_invalid", bad_submissions_are_invalid),
)


def check_environment(subject: Subject) -> Iterator[Finding]:
    """Run every check; yields one finding each."""
    for check in CHECKS:
        yield Finding(check.name, check.run(subject))


def cheat_folders(card: TaskCard) -> list[Path]:
    """Folders of the known cheats of an environment."""
    return sorted(p for p in (card.folder / "tests" / "cheats").glob("*") if p.is_dir())


@contextmanager
def cheat_submission(card: TaskCard, cheat: Path) -> Iterator[Path]:
    """Build a cheat's submission: the starting solution with the cheat's files over it.

    The starting solution's own files are there a second time as `start_<name>`, so that a
    cheat can fall back on honest work.
    """
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch) / "submission"
        shutil.copytree(card.folder / "agent", folder, ignore=shutil.ignore_patterns("__pycache__"))
        for path in _files(folder):
            shutil.copyfile(path, path.with_name(f"start_{path.name}"))
        shutil.copytree(cheat, folder, symlinks=True, dirs_exist_ok=True)
        yield folder


def _files(folder: Path) -> list[Path]:
    return sorted(p for p in folder.rglob("*") if p.is_file() and "__pycache__" not in p.parts)


def _digest(folder: Path) -> str:
    found = hashlib.sha256()
    for path in _files(folder):
        found.update(str(path.relative_to(folder)).encode() + b"\0" + path.read_bytes())
    return found.hexdigest()
