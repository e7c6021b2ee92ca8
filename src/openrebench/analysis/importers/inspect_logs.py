"""Attempts from Inspect's `.eval` logs: headers, summaries and score events, nothing else.

A log is a zip of JSON members. Samples are read as a stream and only their score events are
kept, so that a log of gigabytes needs little memory; Inspect AI itself is not imported. Works
for logs of this project's tasks and for others whose score events hold a number.

Not covered: intermediate scores without a working time, which old logs lack.
"""

import importlib
import json
import math
import re
import sys
import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import IO, Any, NamedTuple

from openrebench.analysis.errors import TableError
from openrebench.analysis.importers.imported import Imported, counts_of, published_ids
from openrebench.analysis.table import from_rows

HEADER, SAMPLES = "header.json", "samples/"
# Python reads Zstandard, which logs are packed with, from 3.14 on by itself.
NEEDED = ("ijson",) if sys.version_info >= (3, 14) else ("ijson", "zipfile_zstd")
ELAPSED = ("requested_at_s", "elapsed_seconds")
NO_NUMBER = re.compile(rb"([:\[,]\s*)(?:NaN|-?Infinity)(?=\s*[,\]}])")
HELD = 64
EXTRA = "reading Inspect logs needs '{}'; install it with: pip install 'openrebench[agents]'"


class _Sample(NamedTuple):
    """What one sample of a log says."""

    facts: Mapping[str, Any]
    events: tuple[Mapping[str, Any], ...]


def import_inspect(path: Path) -> Imported:
    """Read a log, or all logs below a folder.

    Raises:
        TableError: There is no log, one is damaged or unfinished, or a package is missing.
    """
    logs = sorted(path.rglob("*.eval")) if path.is_dir() else [path]
    if not logs:
        raise TableError(f"{path}: holds no .eval log")
    rows, entries, notes = [], [], []
    for log in logs:
        header, samples = _read(log)
        for sample in samples:
            found = [entry for event in sample.events if (entry := _entry(event)) is not None]
            rows.append(_row(log, header, sample, found))
            entries.append(found)
        if header.get("status") != "success":
            notes.append(f"{log.name}: the run ended with status {header.get('status')}")
    return Imported(from_rows(rows, entries), tuple(notes))


def _read(log: Path) -> tuple[Mapping[str, Any], list[_Sample]]:
    ijson, *_ = [_package(name) for name in NEEDED]
    try:
        with zipfile.ZipFile(log) as archive:
            header = json.loads(archive.read(HEADER))
            names = sorted(name for name in archive.namelist() if name.startswith(SAMPLES))
            return header, [_sample(ijson, archive, name) for name in names]
    except KeyError as error:
        raise TableError(
            f"{log}: has no header, so the run is not finished; wait for it"
        ) from error
    except (OSError, zipfile.BadZipFile, ValueError) as error:
        raise TableError(f"{log}: is no readable Inspect log ({error})") from error


def _package(name: str) -> Any:  # noqa: ANN401 - an optional package
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        raise TableError(EXTRA.format(name)) from error


def _sample(ijson: Any, archive: zipfile.ZipFile, name: str) -> _Sample:  # noqa: ANN401
    """Read what is small of a sample, and of its events only scores."""
    facts: dict[str, Any] = {}
    events = []
    with archive.open(name) as file:
        for key, value in _members(ijson, _WithoutNaN(file)):
            if key == "events":
                if value.get("event") == "score":
                    events.append(value)
            else:
                facts[key] = value
    return _Sample(facts, tuple(events))


class _WithoutNaN:
    """A file that reads NaN, which Inspect writes for "unscored" and JSON does not have, as null.

    Inside a string the word would change too; no string that we keep holds it as a value.
    """

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self._held = b""

    def read(self, size: int = -1) -> bytes:
        """Read about `size` bytes, holding back an end that may cut a word."""
        while True:
            block = self._file.read(size)
            data = NO_NUMBER.sub(rb"\1null", self._held + block)
            end = len(data) - HELD if block else len(data)
            self._held = data[max(0, end) :]
            if end > 0 or not block:
                return data[: max(0, end)]


UNFINISHED = ("start_map", "start_array", "map_key")
WANTED = {
    *("id", "epoch", "uuid", "working_time", "total_time", "started_at", "model_usage"),
    *("error", "limit", "metadata", "scores"),
}


def _members(ijson: Any, file: Any) -> Iterator[tuple[str, Any]]:  # noqa: ANN401
    """Yield the wanted members of the top object, and each of its events by itself."""
    builder = None
    key = prefix = ""
    for where, kind, value in ijson.parse(file, use_float=True):
        if where == "" and kind == "map_key":
            key, builder = value, None
            continue
        if builder is None and (where == "events.item" or (where == key and key in WANTED)):
            builder, prefix = ijson.ObjectBuilder(), where
        if builder is None:
            continue
        builder.event(kind, value)
        if where == prefix and kind not in UNFINISHED:
            yield key, builder.value
            builder = None


def _entry(event: Mapping[str, Any]) -> dict[str, object] | None:
    """A score during the attempt; None for the final score, which repeats one of them."""
    if not event.get("intermediate"):
        return None
    score = event.get("score") or {}
    facts = score.get("metadata") or {}
    at_s = next((facts[name] for name in ELAPSED if name in facts), event.get("working_start"))
    value = score.get("value")
    number = float(value) if isinstance(value, int | float) else math.nan
    outcome = facts.get("outcome") or ("scored" if math.isfinite(number) else "invalid")
    normalised = outcome == "scored" and facts.get("scale", "normalised") == "normalised"
    return {
        "at_s": float(at_s or 0.0),
        "outcome": outcome,
        "reason": facts.get("reason"),
        "raw": facts.get("raw"),
        "score": number if normalised and math.isfinite(number) else None,
    }


def _row(
    log: Path, header: Mapping[str, Any], sample: _Sample, entries: list[dict[str, object]]
) -> dict[str, object]:
    spec, facts = header["eval"], sample.facts
    environment, version, profile = _environment(spec, facts)
    counts = counts_of(environment)
    score = _score(sample, entries, counts)
    working_s = float(facts.get("working_time") or 0.0)
    budget_s = _budget_s(spec)
    usage = (facts.get("model_usage") or {}).values()
    failed = facts.get("error") is not None
    return {
        "attempt": facts.get("uuid") or f"{log.stem} {facts.get('id')} {facts.get('epoch')}",
        "environment": environment,
        "version": version,
        "profile": profile,
        "anchors": "imported",
        "isolation": "imported",
        "source": "inspect",
        "solver": f"{spec.get('solver') or spec.get('task')} / {spec.get('model')}",
        "kind": "agent",
        "model": spec.get("model") or "",
        "counts": counts,
        "budget_s": budget_s,
        "length_s": working_s if budget_s is None else budget_s,
        "working_s": working_s,
        "ended": "error" if failed else "budget" if facts.get("limit") else "submitted",
        "score": score,
        "left_out": _left_out(failed=failed, score=score),
        "score_calls": len(entries) if entries else None,
        "input_tokens": sum(int(use.get("input_tokens") or 0) for use in usage),
        "output_tokens": sum(int(use.get("output_tokens") or 0) for use in usage),
        "wall_s": float(facts.get("total_time") or 0.0),
        "has_log": bool(entries),
    }


def _left_out(*, failed: bool, score: float | None) -> str:
    if failed:
        return "ended in an error of the harness"
    return "" if score is not None else "no score that is a number"


def _environment(spec: Mapping[str, Any], facts: Mapping[str, Any]) -> tuple[str, str, str]:
    """Environment, version and profile: from our label if it is there, else the task's name."""
    label = str((facts.get("metadata") or {}).get("environment") or "")
    if "@" in label and "/" in label:
        name, rest = label.split("@", 1)
        version, profile = rest.split("/", 1)
        return name, version, profile
    task = str(spec.get("task") or "").rsplit("/", 1)[-1]
    return published_ids().get(task, task), "imported", "full"


def _budget_s(spec: Mapping[str, Any]) -> float | None:
    limit = (spec.get("config") or {}).get("working_limit")
    return float(limit) if isinstance(limit, int | float) else None


def _score(sample: _Sample, entries: list[dict[str, object]], counts: str) -> float | None:
    """The attempt's normalised score: from its log if it has one, else the final score."""
    valid = [float(e["score"]) for e in entries if isinstance(e["score"], float)]
    if valid:
        return max(0.0, valid[-1] if counts == "last" else max(valid))
    if entries:
        return 0.0 if all(e["outcome"] != "scored" for e in entries) else None
    for score in (sample.facts.get("scores") or {}).values():
        value = score.get("value")
        if isinstance(value, int | float) and math.isfinite(value):
            return max(0.0, float(value))
    return None
