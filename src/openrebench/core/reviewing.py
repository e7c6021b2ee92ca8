"""What a person should look at in an attempt: its flags, refusals and changes, in one text.

A flag never changes a verdict, so somebody has to read it; this is the pack for that person.
"""

import difflib
import json
from collections.abc import Iterator
from pathlib import Path

from openrebench.core.attempt import StoredAttempt
from openrebench.core.rescoring import read_rescore
from openrebench.core.result import Outcome
from openrebench.core.score_log import ScoreEntry

SHOWN_LINES = 400  # of one submission's differences


def review_pack(attempt: StoredAttempt) -> str:
    """Write the pack of one attempt as Markdown.

    It has every flag and every refusal of the score log with its sentence and details, the flags of
    the official score if there is one, and how each flagged submission differs from the start.

    Args:
        attempt: As read by `read_attempt`.
    """
    record, flagged = attempt.record, [entry for entry in attempt.entries if entry.flags]
    refused = [entry for entry in attempt.entries if entry.outcome is Outcome.INVALID]
    lines = [
        f"# {record.id}",
        f"{record.environment}/{record.profile}, {record.solver.kind} {record.solver.name}, "
        f"{len(attempt.entries)} score calls: {len(flagged)} flagged, {len(refused)} refused.",
        *_official(attempt),
    ]
    for entry in attempt.entries:
        if entry.flags or entry in refused:
            lines += _entry(entry)
    shown: set[str] = set()
    for entry in flagged:
        if entry.submission and entry.submission not in shown:
            shown.add(entry.submission)
            lines += _changes(attempt, entry)
    return "\n\n".join(lines) + "\n"


def _official(attempt: StoredAttempt) -> Iterator[str]:
    outcome = read_rescore(attempt.folder)
    for flag in outcome.flags if outcome else ():
        yield f"- official score: **{flag}**"


def _entry(entry: ScoreEntry) -> Iterator[str]:
    value = "no score" if entry.raw is None else f"{entry.raw:g} {entry.unit}"
    yield f"## Score call {entry.seq}, {entry.requested_at_s:.0f} s: {entry.outcome}, {value}"
    yield from (f"- flag: **{flag}**" for flag in entry.flags)
    yield f"> {entry.message}"
    if entry.details:
        yield f"```json\n{json.dumps(dict(entry.details), indent=1, default=str)}\n```"


def _changes(attempt: StoredAttempt, entry: ScoreEntry) -> Iterator[str]:
    yield f"## What the submission of call {entry.seq} changed ({entry.submission[:12]})"
    kept = attempt.folder / "submissions"
    start, now = (_texts(kept / sha) for sha in (attempt.entries[0].submission, entry.submission))
    found: list[str] = []
    for name in sorted({*start, *now}):
        before, after = start.get(name, ""), now.get(name, "")
        found += difflib.unified_diff(
            before.splitlines(), after.splitlines(), f"start/{name}", name, lineterm=""
        )
    cut = [f"... {len(found) - SHOWN_LINES} more lines"] if len(found) > SHOWN_LINES else []
    yield "\n".join(["~~~~diff", *found[:SHOWN_LINES], *cut, "~~~~"]) if found else "Nothing."


def _texts(folder: Path) -> dict[str, str]:
    """Read a stored submission; of a file that is no text only its size is told."""
    found = {}
    for path in sorted(p for p in folder.rglob("*") if p.is_file()):
        content = path.read_bytes()
        try:
            text = content.decode()
        except UnicodeDecodeError:
            text = f"({len(content)} bytes)"
        found[str(path.relative_to(folder))] = text
    return found
