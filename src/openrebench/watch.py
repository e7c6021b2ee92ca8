"""How attempts stand, read from their folders alone: from any terminal, during and after.

A runner that died is shown as such: nobody holds its attempt, and the record has no end.
"""

from datetime import UTC, datetime
from pathlib import Path
from typing import TypedDict

from openrebench.core.attempt import (
    RECORD,
    SCORE_LOG,
    AttemptRecord,
    StoredAttempt,
    find_attempts,
    read_attempt,
)
from openrebench.core.reading import counting_so_far, normalised, read_card_of
from openrebench.core.service import Row
from openrebench.errors import ReBenchError
from openrebench.harness.accounts import Accounts, read_accounts
from openrebench.human.clock import CLOCK, Reading, read_clock

SILENT_S = 30.0  # a runner writes the accounts about once a second
HIDDEN = "hidden"  # of environments that tell their solver no score, until the attempt has ended
NO_MODEL = "none/none"
AT_WORK = ("running", "paused", "silent")


Signature = tuple[tuple[int, int] | None, ...]


class AttemptRow(TypedDict):
    """How an attempt stands.

    `state` is one of: running, paused, left (a person may come back), silent (its runner lives but
    writes nothing), dead (its runner has died), submitted, budget, error, interrupted, damaged
    (then `note` says why).
    Unknown amounts are None. `cost_usd` is what is known so far, and a lower bound if
    `cost_is_known` is false.
    """

    attempt: str
    folder: str
    environment: str
    solver: str
    state: str
    note: str
    best: str
    raw: float | None
    normalised: float | None
    score_calls: int
    used_s: float | None
    left_s: float | None
    cost_usd: float | None
    cost_is_known: bool
    last_activity: str | None
    pauses: list[Row]


EMPTY: AttemptRow = {
    "attempt": "",
    "folder": "",
    "environment": "",
    "solver": "",
    "state": "damaged",
    "note": "",
    "best": "",
    "raw": None,
    "normalised": None,
    "score_calls": 0,
    "used_s": None,
    "left_s": None,
    "cost_usd": None,
    "cost_is_known": False,
    "last_activity": None,
    "pauses": [],
}


class Reader:
    """Reads attempts again and again; those that rest and have not changed are not read twice."""

    def __init__(self) -> None:
        self._known: dict[Path, tuple[Signature, AttemptRow]] = {}

    def rows(self, root: Path) -> list[AttemptRow]:
        """Read all attempts below a folder: those at work first, then the latest."""
        rows = [self._row(folder) for folder in find_attempts(root)] if root.is_dir() else []
        rows.sort(key=lambda row: row["last_activity"] or "", reverse=True)
        rows.sort(key=lambda row: row["state"] not in AT_WORK)
        return rows

    def _row(self, folder: Path) -> AttemptRow:
        signature = tuple(_facts(folder / name) for name in (RECORD, SCORE_LOG, CLOCK))
        known = self._known.get(folder)
        if known is not None and known[0] == signature and known[1]["state"] not in AT_WORK:
            return known[1]
        row = row_of(folder)
        self._known[folder] = signature, row
        return row


def _facts(path: Path) -> tuple[int, int] | None:
    """What changes when a file does."""
    try:
        found = path.stat()
    except FileNotFoundError:
        return None
    return found.st_mtime_ns, found.st_size


def row_of(folder: Path) -> AttemptRow:
    """Read how one attempt stands; one that can't be read says why."""
    try:
        stored = read_attempt(folder)
        return _row(stored, read_accounts(folder), read_clock(folder))
    except (ReBenchError, OSError, ValueError, KeyError) as error:
        return {**EMPTY, "attempt": folder.name, "folder": str(folder), "note": str(error)}


def _row(stored: StoredAttempt, accounts: Accounts | None, clock: Reading | None) -> AttemptRow:
    record = stored.record
    used_s = _used_s(stored, accounts, clock)
    left_s = None
    if used_s is not None and record.time_budget_s is not None:
        left_s = max(0.0, record.time_budget_s - used_s)
    cost_usd, cost_is_known = _cost(stored, accounts)
    best, raw, value = _best(stored)
    return {
        "attempt": record.id,
        "folder": str(stored.folder),
        "environment": f"{record.environment}@{record.environment_version}/{record.profile}",
        "solver": _solver(record),
        "state": _state(stored, accounts, clock),
        "note": "",
        "best": best,
        "raw": raw,
        "normalised": value,
        "score_calls": len(stored.entries),
        "used_s": used_s,
        "left_s": left_s,
        "cost_usd": cost_usd,
        "cost_is_known": cost_is_known,
        "last_activity": _last_activity(stored, clock).isoformat(),
        "pauses": list(clock.pauses) if clock else [],
    }


def _solver(record: AttemptRecord) -> str:
    model = "" if record.solver.model == NO_MODEL else record.solver.model
    return f"{record.solver.name} {model}".strip()


def _state(stored: StoredAttempt, accounts: Accounts | None, clock: Reading | None) -> str:
    paused = clock is not None and clock.state == "paused"
    if not stored.running:
        if paused or (clock is None and stored.record.solver.kind == "human"):
            return "left"
        return stored.record.ended or "dead"
    if paused:
        return "paused"
    beat = accounts.updated_at if accounts else stored.record.started_at
    silent = accounts is not None and (datetime.now(UTC) - beat).total_seconds() > SILENT_S
    return "silent" if silent else "running"


def _used_s(
    stored: StoredAttempt, accounts: Accounts | None, clock: Reading | None
) -> float | None:
    """Working seconds, as far as is known: of a running attempt, up to its last beat."""
    if stored.record.ended is not None:
        return stored.record.usage.working_s
    if clock is not None:
        return clock.used_s
    known = [entry.elapsed_s for entry in stored.entries]
    return max([*known, *([accounts.working_s] if accounts else [])], default=None)


def _cost(stored: StoredAttempt, accounts: Accounts | None) -> tuple[float | None, bool]:
    """Dollars, and whether that is all."""
    if accounts is not None and accounts.models:
        return accounts.known_cost_usd, accounts.cost_usd is not None
    return stored.record.usage.cost_usd, stored.record.usage.cost_usd is not None


def _best(stored: StoredAttempt) -> tuple[str, float | None, float | None]:
    """The score that counts so far: as a text, raw, and normalised."""
    record = stored.record
    try:
        card = read_card_of(record)
    except ReBenchError:  # somebody else's environment
        return "unknown environment", None, None
    if not card.score.visible and record.ended in (None, "interrupted"):
        return HIDDEN, None, None
    entry = counting_so_far(card, record, stored.entries)
    if entry is None or entry.raw is None:
        return "none valid", None, None
    value, _ = normalised(card, record.profile, entry.raw, record.device)
    return f"{entry.raw:.5g} {entry.unit}", entry.raw, value


def _last_activity(stored: StoredAttempt, clock: Reading | None) -> datetime:
    """When something last happened that a solver caused."""
    moments = [stored.record.ended_at or stored.record.started_at]
    moments += [entry.scored_at for entry in stored.entries[-1:]]
    if clock is not None and clock.pauses:
        moments.append(datetime.fromisoformat(str(clock.pauses[-1]["at"])))
    return max(moments)
