"""One attempt by one solver at one environment, as a folder on disk.

    attempts/<id>/
        attempt.json      who, what, limits, versions; replaced when the attempt ends or is resumed
        score_log.jsonl   every score call (see score_log.py)
        submissions/      the scored files, by content
        seeds.jsonl       the secret seed of each score call, for whoever checks them later
        errors.jsonl      our own errors in full, never shown to a solver
        workspace/        the solver's files while it works

A folder of attempts is the database. One process writes an attempt (it holds a lock while it
does); anybody may read it at any moment, also after a crash.
"""

import fcntl
import hashlib
import json
import os
import shutil
import uuid
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal, NamedTuple, Self

from pydantic import BaseModel, ConfigDict, Field, JsonValue, ValidationError

from openrebench.core.environment import Environment
from openrebench.core.score_log import ScoreEntry, ScoreLog, read_entries
from openrebench.core.scoring import score_submission
from openrebench.core.seed import Seed
from openrebench.core.service import scoring
from openrebench.errors import AttemptError
from openrebench.isolation.runner import Runner
from openrebench.isolation.snapshot import Snapshot

RECORD, SCORE_LOG, LOCK = "attempt.json", "score_log.jsonl", "writer.lock"
Ended = Literal["budget", "submitted", "error", "interrupted"]


class _Record(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Solver(_Record):
    """Who attempts: an agent with its model and settings, or a human."""

    kind: Literal["agent", "human"]
    name: str
    version: str = ""
    model: str = ""
    settings: Mapping[str, JsonValue] = Field(default_factory=dict)

    @property
    def settings_sha256(self) -> str:
        """Hash that is equal for equal settings."""
        text = json.dumps(self.settings, sort_keys=True, default=str)
        return hashlib.sha256(text.encode()).hexdigest()


class Usage(_Record):
    """What an attempt has used. Unknown amounts are None, never 0."""

    model_calls: int | None = None
    input_tokens: int | None = None
    output_tokens: int | None = None
    cost_usd: float | None = None
    working_s: float = 0.0
    wall_s: float = 0.0
    scoring_s: float = 0.0
    gpu_s: float | None = None
    score_calls: int = 0


class Resumed(_Record):
    """When an unfinished attempt was taken up again.

    Attributes:
        after_s: Working seconds that it had used by then.
        was: How it had stopped.
    """

    at: datetime
    after_s: float
    was: Literal["crashed"] | Ended


class AttemptRecord(_Record):
    """What attempt.json holds.

    Attributes:
        plan: Id of the plan that it belongs to, empty for none; `place` is its number there.
    """

    schema_version: Literal[1] = 1
    id: str
    environment: str
    environment_version: str
    profile: str
    solver: Solver
    time_budget_s: float | None
    limits: Mapping[str, JsonValue] = Field(default_factory=dict)
    started_at: datetime
    ended_at: datetime | None = None
    ended: Ended | None = None
    usage: Usage = Usage()
    hardware: Mapping[str, str | int | float] = Field(default_factory=dict)
    versions: Mapping[str, str] = Field(default_factory=dict)
    isolation: str
    device: str
    plan: str = ""
    place: int | None = None
    resumed: tuple[Resumed, ...] = ()


class StoredAttempt(NamedTuple):
    """An attempt as anybody can read it from its folder.

    `running` is whether a live process holds the attempt; one that is neither running nor
    ended was interrupted by a crash, and its entries count.
    """

    folder: Path
    record: AttemptRecord
    entries: tuple[ScoreEntry, ...]
    running: bool


class Attempt:
    """An attempt that this process writes."""

    def __init__(self, folder: Path, environment: Environment, runner: Runner) -> None:
        self.folder = folder
        self.environment = environment
        self.runner = runner
        self._lock = _take_lock(folder)
        self.record = _read_record(folder)
        self.log = ScoreLog(folder / SCORE_LOG)

    @classmethod
    def create(
        cls,
        root: Path,
        environment: Environment,
        runner: Runner,
        *,
        profile: str,
        solver: Solver,
        time_budget_s: float | None,
        facts: Mapping[str, object],
    ) -> Self:
        """Start the record of a new attempt.

        Args:
            root: Folder of attempts.
            environment: What is attempted.
            runner: What will run the submissions.
            profile: At which size.
            solver: Who attempts.
            time_budget_s: Working seconds, or None for no budget.
            facts: Further fields of the record: `hardware`, `versions`, `limits`, `device`.
        """
        card = environment.card
        started = datetime.now(UTC)
        name = f"{card.id}-{started:%Y%m%dT%H%M%S}-{uuid.uuid4().hex[:6]}"
        record = AttemptRecord.model_validate(
            {
                "id": name,
                "environment": card.id,
                "environment_version": card.version,
                "profile": profile,
                "solver": solver,
                "time_budget_s": time_budget_s,
                "started_at": started,
                "isolation": str(runner.mode),
                **facts,
            }
        )
        folder = root / name
        (folder / "submissions").mkdir(parents=True)
        _write_record(folder, record)
        return cls(folder, environment, runner)

    @property
    def workspace(self) -> Path:
        """Where the solver works, unless it was given another folder."""
        return self.folder / "workspace"

    def score(self, workspace: Path, clock: Callable[[], float]) -> ScoreEntry:
        """Score the workspace as it is now; the entry is on disk when this returns.

        Args:
            workspace: Folder with the submission.
            clock: Gives the attempt's working seconds so far.
        """
        requested_at_s = clock()
        seed = Seed.fresh()
        self._append("seeds.jsonl", {"commitment": seed.commitment, "seed": seed.secret.hex()})
        with scoring(self.folder):
            result = score_submission(
                self.environment,
                workspace,
                self.record.profile,
                self.runner,
                keep=self._keep,
                on_error=lambda reference, text: self._append(
                    "errors.jsonl", {"reference": reference, "text": text}
                ),
                seed=seed,
            )
        return self.log.append(result, requested_at_s=requested_at_s, elapsed_s=clock())

    def resume(self, after_s: float) -> None:
        """Take up an attempt that was interrupted or left by a crash.

        Args:
            after_s: Working seconds that it has used.
        """
        note = Resumed(at=datetime.now(UTC), after_s=after_s, was=self.record.ended or "crashed")
        self.record = self.record.model_copy(
            update={"ended": None, "ended_at": None, "resumed": (*self.record.resumed, note)}
        )
        _write_record(self.folder, self.record)

    def end(self, ended: Ended, usage: Usage) -> None:
        """Write how the attempt ended, and let go of it."""
        counted = usage.model_copy(
            update={
                "score_calls": len(self.log.entries),
                "scoring_s": sum(entry.seconds for entry in self.log.entries),
            }
        )
        self.record = self.record.model_copy(
            update={"ended": ended, "ended_at": datetime.now(UTC), "usage": counted}
        )
        _write_record(self.folder, self.record)
        self.close()

    def close(self) -> None:
        """Let go of the attempt without ending it."""
        self.log.close()
        os.close(self._lock)

    def _keep(self, taken: Snapshot) -> None:
        target = self.folder / "submissions" / taken.sha256
        if target.exists():
            return
        part = target.with_name(f".{taken.sha256}.part")
        shutil.rmtree(part, ignore_errors=True)
        part.mkdir()
        taken.write(part)
        part.rename(target)

    def _append(self, name: str, row: Mapping[str, str]) -> None:
        fd = os.open(self.folder / name, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        try:
            os.write(fd, json.dumps({"at": datetime.now(UTC).isoformat(), **row}).encode() + b"\n")
            os.fsync(fd)
        finally:
            os.close(fd)


def read_attempt(folder: Path) -> StoredAttempt:
    """Read an attempt from its folder, running, ended or left by a crash.

    Raises:
        AttemptError: There is no attempt, or its record or a finished log line is damaged.
    """
    path = folder / SCORE_LOG
    entries = tuple(read_entries(path)) if path.exists() else ()
    return StoredAttempt(folder, _read_record(folder), entries, _is_held(folder))


def find_attempts(root: Path) -> Iterator[Path]:
    """Yield the folders of all attempts below `root`, or `root` itself if it is one.

    A folder whose attempt.json was never finished is no attempt: nothing was scored in it.
    """
    if (root / RECORD).is_file():
        yield root
        return
    yield from sorted(path.parent for path in root.glob(f"*/{RECORD}"))


def _read_record(folder: Path) -> AttemptRecord:
    path = folder / RECORD
    try:
        return AttemptRecord.model_validate_json(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise AttemptError(f"{folder}: holds no attempt ({RECORD}: {error.strerror})") from error
    except ValidationError as error:
        problem = error.errors()[0]
        place = ".".join(str(part) for part in problem["loc"]) or "the file"
        raise AttemptError(f"{path}: {place}: {problem['msg']}") from error


def _write_record(folder: Path, record: AttemptRecord) -> None:
    """Replace the record at once: a crash leaves the old one or the new one."""
    part = folder / f".{RECORD}.part"
    with part.open("w", encoding="utf-8") as file:
        file.write(record.model_dump_json(indent=1) + "\n")
        file.flush()
        os.fsync(file.fileno())
    part.rename(folder / RECORD)


def _take_lock(folder: Path) -> int:
    fd = os.open(folder / LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        os.close(fd)
        raise AttemptError(f"{folder}: another process is writing this attempt") from error
    return fd


def _is_held(folder: Path) -> bool:
    path = folder / LOCK
    if not path.exists():
        return False
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(fd)
    return False
