"""Check that a stored attempt is what its log says."""

import hashlib
import json
from collections.abc import Iterable
from pathlib import Path

from openrebench.core.attempt import StoredAttempt
from openrebench.core.score_log import verify
from openrebench.isolation.snapshot import take


def verify_attempt(attempt: StoredAttempt, anchors: Iterable[str] = ()) -> list[str]:
    """List what does not fit in an attempt's folder; an empty list means all fits.

    Checks the hash chain, the anchors if given, that every scored submission is stored under
    its own hash, and that the kept secret seeds are those the log committed to.

    Args:
        attempt: As read by `read_attempt`.
        anchors: Hashes of log entries noted elsewhere, for example in the transcript.
    """
    return [
        *verify(attempt.entries, anchors),
        *_submission_problems(attempt),
        *_seed_problems(attempt),
    ]


def _submission_problems(attempt: StoredAttempt) -> list[str]:
    problems = []
    for sha in sorted({entry.submission for entry in attempt.entries if entry.submission}):
        folder = attempt.folder / "submissions" / sha
        if not folder.is_dir():
            problems.append(f"submission {sha[:12]}: its files are missing")
        elif take(folder, ["**/*"], 1 << 40).sha256 != sha:
            problems.append(f"submission {sha[:12]}: its files were changed")
    return problems


def _seed_problems(attempt: StoredAttempt) -> list[str]:
    kept = dict(_seeds(attempt.folder / "seeds.jsonl"))
    problems = []
    for entry in attempt.entries:
        secret = kept.get(entry.seed_commitment)
        if secret is None:
            problems.append(f"entry {entry.seq}: its seed was not kept")
        elif hashlib.sha256(bytes.fromhex(secret)).hexdigest() != entry.seed_commitment:
            problems.append(f"entry {entry.seq}: the kept seed is not the one committed to")
    return problems


def _seeds(path: Path) -> Iterable[tuple[str, str]]:
    if not path.exists():
        return
    for line in path.read_bytes().splitlines(keepends=True):
        if line.endswith(b"\n"):
            row = json.loads(line)
            yield row["commitment"], row["seed"]
