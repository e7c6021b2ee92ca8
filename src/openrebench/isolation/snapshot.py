"""Copy a submission's files before they are judged, so that they can't change meanwhile.

The folder belongs to untrusted code: every level is opened without following links, and what
is not a regular file is left alone.
"""

import fnmatch
import hashlib
import os
import stat
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from openrebench.errors import InvalidSubmission, Reason

MAX_FILES = 10_000
MAX_DEPTH = 32


@dataclass(frozen=True, kw_only=True)
class Snapshot:
    """Files of a submission by relative path, and a hash over names and contents."""

    files: Mapping[str, bytes]
    sha256: str

    @classmethod
    def of(cls, files: Mapping[str, bytes]) -> "Snapshot":
        """Sort and hash files; equal hashes mean equal names and contents."""
        ordered = {name: files[name] for name in sorted(files)}
        digest = hashlib.sha256()
        for name, content in ordered.items():
            for part in (name.encode("utf-8", "surrogateescape"), content):
                digest.update(len(part).to_bytes(8, "little") + part)
        return cls(files=ordered, sha256=digest.hexdigest())

    def write(self, folder: Path) -> None:
        """Write the files below a folder of ours."""
        for name, content in self.files.items():
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)


def take(folder: Path, patterns: Sequence[str], max_bytes: int) -> Snapshot:
    """Read the files that match, once, into memory.

    Args:
        folder: The workspace; may itself be reached through links, nothing below it is.
        patterns: Globs relative to the folder; `**` stands for any number of folders.
        max_bytes: Total size above which the submission is refused.

    Raises:
        InvalidSubmission: Nothing matches, or the files are too large or too many.
    """
    files: dict[str, bytes] = {}
    total = 0
    top = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        for name, parent, entry in _walk(top, "", 0):
            if not any(_matches(name, pattern) for pattern in patterns):
                continue
            content = _read(parent, entry, max_bytes - total)
            if content is None:
                continue
            files[name] = content
            total += len(content)
            if total > max_bytes or len(files) > MAX_FILES:
                raise InvalidSubmission(
                    Reason.RULE_BROKEN,
                    f"the submission is larger than {max_bytes} bytes or {MAX_FILES} files",
                )
    finally:
        os.close(top)
    if not files:
        raise InvalidSubmission(Reason.MISSING_FILE, _missing(folder, patterns))
    return Snapshot.of(files)


def open_flags() -> int:
    """How untrusted files are opened: no links, and no waiting for a FIFO's other end."""
    return os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


def _walk(folder: int, prefix: str, depth: int) -> Iterator[tuple[str, int, str]]:
    """Yield each non-folder below: relative path, descriptor of its folder, name in it."""
    for entry in sorted(os.listdir(folder)):
        name = prefix + entry
        try:
            below = os.open(entry, open_flags() | os.O_DIRECTORY, dir_fd=folder)
        except OSError:
            yield name, folder, entry
            continue
        try:
            if depth < MAX_DEPTH:
                yield from _walk(below, name + "/", depth + 1)
        finally:
            os.close(below)


def _read(folder: int, entry: str, room: int) -> bytes | None:
    """Read a regular file, at most one byte more than there is room for; None if it isn't one."""
    try:
        fd = os.open(entry, open_flags(), dir_fd=folder)
    except OSError:
        return None
    with os.fdopen(fd, "rb") as file:
        found = os.fstat(fd)
        if not stat.S_ISREG(found.st_mode):
            return None
        return file.read(min(room, found.st_size) + 1)


def _matches(name: str, pattern: str) -> bool:
    return _parts_match(name.split("/"), pattern.split("/"))


def _parts_match(names: list[str], patterns: list[str]) -> bool:
    if not patterns:
        return not names
    first, rest = patterns[0], patterns[1:]
    if first == "**":
        return any(_parts_match(names[k:], rest) for k in range(len(names) + 1))
    return bool(names) and fnmatch.fnmatchcase(names[0], first) and _parts_match(names[1:], rest)


def _missing(folder: Path, patterns: Sequence[str]) -> str:
    for pattern in patterns:
        if (folder / pattern).is_symlink():
            return f"{pattern} is a link; the submission must be a regular file"
    return f"the submission has no {patterns[0]}"
