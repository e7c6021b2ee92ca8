"""The timestamped record of every score call of one attempt.

JSON lines, append-only, each forced to disk before the solver hears of its score and each
holding the hash of the one before, so that a changed, dropped or reordered entry shows.
A crash can cost only the line being written; `ScoreLog` drops such a torn tail when it opens
the file for writing, and readers pass over it.

Not covered: someone who can write the file can rewrite the whole chain. The last hash is
therefore also written into the transcript at every score call (see `verify`).
"""

import hashlib
import json
import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Self

from pydantic import Field, ValidationError

from openrebench.core.result import Outcome, ScoreResult
from openrebench.core.scale import ScoreScale
from openrebench.errors import AttemptError

GENESIS = "0" * 64


class ScoreEntry(ScoreResult):
    """A score call's result at its place in the log.

    Attributes:
        seq: Number of the entry, from 0; entry 0 is the starting solution's.
        requested_at_s: Working seconds of the attempt when the score was asked for. The entry
            counts at this moment.
        elapsed_s: Working seconds when the answer was given.
        prev_hash: Hash of the entry before.
        hash: SHA-256 of this entry without this field.
    """

    seq: int = Field(ge=0)
    requested_at_s: float = Field(ge=0)
    elapsed_s: float = Field(ge=0)
    prev_hash: str
    hash: str = ""

    def digest(self) -> str:
        """Compute the hash this entry must carry."""
        body = self.model_dump_json(exclude={"hash"})
        return hashlib.sha256(_canonical(body)).hexdigest()


def _canonical(body: str) -> bytes:
    return json.dumps(json.loads(body), sort_keys=True, separators=(",", ":")).encode()


class ScoreLog:
    """The score log of an attempt, open for appending by one writer."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._entries = list(read_entries(path)) if path.exists() else []
        whole = sum(len(line) for line in _whole_lines(path)) if path.exists() else 0
        self._fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        os.ftruncate(self._fd, whole)

    @property
    def entries(self) -> tuple[ScoreEntry, ...]:
        """All entries, oldest first."""
        return tuple(self._entries)

    @property
    def head(self) -> str:
        """Hash of the last entry: what anchors the log elsewhere."""
        return self._entries[-1].hash if self._entries else GENESIS

    def append(self, result: ScoreResult, *, requested_at_s: float, elapsed_s: float) -> ScoreEntry:
        """Write one result and force it to disk before returning.

        Args:
            result: What the score call found, whatever its outcome.
            requested_at_s: Working seconds when the score was asked for.
            elapsed_s: Working seconds now.
        """
        unsigned = ScoreEntry(
            **result.model_dump(),
            seq=len(self._entries),
            requested_at_s=requested_at_s,
            elapsed_s=elapsed_s,
            prev_hash=self.head,
        )
        entry = unsigned.model_copy(update={"hash": unsigned.digest()})
        os.write(self._fd, entry.model_dump_json().encode() + b"\n")
        os.fsync(self._fd)
        self._entries.append(entry)
        return entry

    def close(self) -> None:
        """Close the file; entries stay readable."""
        os.close(self._fd)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def read_entries(path: Path) -> Iterator[ScoreEntry]:
    """Read a score log, passing over a last line that a crash left unfinished.

    Raises:
        AttemptError: A finished line is not a score entry.
    """
    for number, line in enumerate(_whole_lines(path), start=1):
        try:
            yield ScoreEntry.model_validate_json(line)
        except ValidationError as error:
            problem = error.errors()[0]
            place = ".".join(str(part) for part in problem["loc"]) or "the line"
            raise AttemptError(
                f"{path} line {number}: {place}: {problem['msg']}; restore the file from a copy"
            ) from error


def _whole_lines(path: Path) -> list[bytes]:
    """Lines that were written to their end; the newline is the last byte of a write."""
    return [line for line in path.read_bytes().splitlines(keepends=True) if line.endswith(b"\n")]


def verify(entries: Iterable[ScoreEntry], anchors: Iterable[str] = ()) -> list[str]:
    """Find what is wrong with a log; an empty list means nothing.

    Args:
        entries: The log, oldest first.
        anchors: Hashes noted elsewhere when entries were written. They catch a tail that was
            cut off and a chain that was rewritten, which the chain alone can't.
    """
    problems = []
    previous, seen = GENESIS, {GENESIS}
    for index, entry in enumerate(entries):
        if entry.seq != index:
            problems.append(f"entry {index}: numbered {entry.seq}; an entry is missing or moved")
        if entry.prev_hash != previous:
            problems.append(f"entry {index}: does not follow the entry before it")
        if entry.hash != entry.digest():
            problems.append(f"entry {index}: its content was changed")
        previous = entry.hash
        seen.add(previous)
    return problems + [f"anchor {a[:12]}: not in the log" for a in anchors if a not in seen]


def best_at(entries: Iterable[ScoreEntry], scale: ScoreScale, t_s: float) -> ScoreEntry | None:
    """Find the best valid entry asked for at or before `t_s` working seconds.

    The earlier of two equal entries wins. None if no entry is valid by then.
    """
    best: ScoreEntry | None = None
    for entry in _valid_until(entries, t_s):
        assert entry.raw is not None
        if best is None or scale.better(entry.raw, best.raw or 0.0):
            best = entry
    return best


def last_at(entries: Iterable[ScoreEntry], t_s: float) -> ScoreEntry | None:
    """Find the last valid entry asked for at or before `t_s` working seconds."""
    return max(_valid_until(entries, t_s), key=lambda e: e.requested_at_s, default=None)


def _valid_until(entries: Iterable[ScoreEntry], t_s: float) -> Iterator[ScoreEntry]:
    return (e for e in entries if e.outcome is Outcome.SCORED and e.requested_at_s <= t_s)
