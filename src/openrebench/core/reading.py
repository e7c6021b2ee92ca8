"""Read stored results the way people want to see them: normalised, summed up, explained."""

import shutil
from pathlib import Path
from typing import Any, TypedDict

from openrebench.core.anchors import Anchors, load_anchors, of_another_machine
from openrebench.core.attempt import AttemptRecord, read_attempt
from openrebench.core.card import TaskCard
from openrebench.core.catalog import find_card
from openrebench.core.environment import Environment
from openrebench.core.scale import ScoreScale
from openrebench.core.score_log import ScoreEntry, best_at, last_at
from openrebench.core.versions import installed_versions
from openrebench.errors import AnchorsMissing
from openrebench.isolation.device import device_fingerprint
from openrebench.isolation.probe import probe_modes

SHIPPED = (
    "the anchors are from another machine of this name; "
    "measure this one's with: re-bench anchors {} --profile {}"
)


def attempt_facts(card: TaskCard, profile: str) -> dict[str, Any]:
    """Collect what an attempt's record says about the machine and the versions."""
    chosen = card.profile(profile)
    device = device_fingerprint(chosen.device)
    return {
        "hardware": device.facts(),
        "device": device.slug,
        "versions": installed_versions(),
        "limits": chosen.limits.model_dump(),
    }


def anchors_of(card: TaskCard, profile: str, device: str | None = None) -> Anchors:
    """Load the anchors for a device, this machine's if None.

    Raises:
        AnchorsMissing: They were never measured.
    """
    device = device or device_fingerprint(card.profile(profile).device).slug
    return load_anchors(card, profile, device)


def has_anchors(card: TaskCard, profile: str) -> bool:
    """Tell whether there are anchors that fit this machine."""
    try:
        return not of_another_machine(card, anchors_of(card, profile))
    except AnchorsMissing:
        return False


def scale_of(
    card: TaskCard, profile: str, device: str | None = None, *, final: bool = False
) -> ScoreScale:
    """Give the scale for a device, this machine's if None; `final` as in `Anchors.scale`."""
    return anchors_of(card, profile, device).scale(card, final=final)


def normalised(
    card: TaskCard, profile: str, raw: float | None, device: str | None = None
) -> tuple[float | None, str]:
    """Normalise a raw score; gives None where that can't be done, and what is to be said of it."""
    if raw is None:
        return None, "the submission has no valid score"
    try:
        anchors = anchors_of(card, profile, device)
    except AnchorsMissing as error:
        return None, str(error)
    note = SHIPPED.format(card.id, profile) if of_another_machine(card, anchors) else ""
    return round(anchors.scale(card).normalize(raw), 4), note


def read_card_of(record: AttemptRecord) -> TaskCard:
    """Find the card of an attempt's environment."""
    return find_card(record.environment)


def counting_entry(
    card: TaskCard, entries: tuple[ScoreEntry, ...], scale: ScoreScale, t_s: float
) -> ScoreEntry | None:
    """The entry that is the attempt's score at `t_s`: the best valid one, or the last."""
    if card.score.counts == "last":
        return last_at(entries, t_s)
    return best_at(entries, scale, t_s)


def counting_so_far(
    card: TaskCard, record: AttemptRecord, entries: tuple[ScoreEntry, ...]
) -> ScoreEntry | None:
    """The entry that is an attempt's score now. Needs no anchors: any scale has the direction."""
    try:
        scale = scale_of(card, record.profile, record.device)
    except AnchorsMissing:
        scale = card.score.scale(1.0, 2.0)
    return counting_entry(card, entries, scale, float("inf"))


class Summary(TypedDict):
    """What `re-bench run` says of an attempt."""

    attempt: str
    folder: str
    ended: str
    score_calls: int
    best: str
    raw: float | None
    normalised: float | None
    note: str


def summary(folder: Path) -> Summary:
    """Sum up one attempt in a row."""
    attempt = read_attempt(folder)
    record, card = attempt.record, read_card_of(attempt.record)
    entry = counting_so_far(card, record, attempt.entries)
    raw = entry.raw if entry else None
    value, note = normalised(card, record.profile, raw, record.device)
    return {
        "attempt": record.id,
        "folder": str(folder),
        "ended": record.ended or ("running" if attempt.running else "interrupted"),
        "score_calls": len(attempt.entries),
        "best": "none valid" if raw is None else f"{raw} {card.score.unit}",
        "raw": raw,
        "normalised": value,
        "note": note,
    }


class Availability(TypedDict):
    """What `re-bench list` says of an environment."""

    id: str
    title: str
    profiles: list[str]
    available: list[str]
    why_not: dict[str, str]


def availability(environment: Environment) -> Availability:
    """Tell which profiles of an environment run here, and why the others don't."""
    card = environment.card
    why_not = {name: environment.unavailable(p) for name, p in card.profiles.items()}
    return {
        "id": card.id,
        "title": card.title,
        "profiles": list(card.profiles),
        "available": [name for name, reason in why_not.items() if reason is None],
        "why_not": {name: reason for name, reason in why_not.items() if reason},
    }


def _compiler_row() -> dict[str, str]:
    """Tell whether sandboxes find a Rust compiler, which rust_codecontests needs."""
    path = shutil.which("rustc", path="/usr/bin:/bin")
    note = path or "apt-get install --no-install-recommends rustc; rust_codecontests needs it"
    return {"what": "rustc", "state": "missing" if path is None else "works", "note": note}


def doctor_rows() -> list[dict[str, str]]:
    """Describe what works here: isolation modes, devices, versions."""
    rows = []
    for report in probe_modes():
        note = "; ".join(report.weaker_in) if report.available else (report.why_not or "")
        state = "works" if report.available else "missing"
        rows.append({"what": f"isolation {report.mode}", "state": state, "note": note})
    for kind in ("cpu", "cuda"):
        device = device_fingerprint(kind)
        state = "works" if device.available else "missing"
        rows.append({"what": f"device {kind}", "state": state, "note": device.slug})
    rows.append(_compiler_row())
    for name, found in installed_versions().items():
        rows.append({"what": name, "state": "installed", "note": found})
    return rows
