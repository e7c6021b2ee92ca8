"""How much of the disk an attempt takes. A workspace is a plain folder, so nothing else bounds it.

Two bounds: the attempt's own limit, and a reserve that must stay free, since the score log and
all other attempts live on the same disk.
"""

import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

BLOCK = 512  # what st_blocks counts in
RESERVE_BYTES = 1 << 30
RESERVE_PART = 0.02  # of the disk, where that is less
LOOK_AGAIN_S = 30.0


class Over(NamedTuple):
    """A bound that was passed, in bytes, and one sentence for the record."""

    value: int
    limit: int
    text: str


class DiskWatch:
    """Looks at a workspace, cheaply: it is walked only when the disk's free space has shrunk.

    Args:
        workspace: Folder that may grow.
        limit_bytes: How much it may hold.
    """

    def __init__(self, workspace: Path, limit_bytes: int) -> None:
        self.workspace = workspace
        self.limit_bytes = limit_bytes
        self._free_bytes = 0
        self._size_bytes = 0
        self._looked = -LOOK_AGAIN_S

    def over(self) -> Over | None:
        """Give the bound that is passed, if one is."""
        facts = os.statvfs(self.workspace)
        free = facts.f_bavail * facts.f_frsize
        reserve = min(RESERVE_BYTES, int(RESERVE_PART * facts.f_blocks * facts.f_frsize))
        if free < reserve or self._may_be_over(free):
            self._free_bytes, self._looked = free, time.monotonic()
            self._size_bytes = folder_bytes(self.workspace)
        size, limit = self._size_bytes, self.limit_bytes
        if size > limit:
            return Over(size, limit, f"the workspace holds {size:,} bytes; it may hold {limit:,}")
        if free < reserve < size:
            text = f"the disk has {free:,} bytes left and the workspace holds {size:,}"
            return Over(reserve, free, text)
        return None

    def _may_be_over(self, free: int) -> bool:
        grown = max(0, self._free_bytes - free)
        late = time.monotonic() - self._looked > LOOK_AGAIN_S
        return late or self._size_bytes + grown > min(self.limit_bytes, RESERVE_BYTES)


def folder_bytes(folder: Path) -> int:
    """Count the disk blocks below a folder, not following links; unreadable parts are left out."""
    seen: set[tuple[int, int]] = set()
    total = 0
    for entry in _below(folder):
        try:
            facts = entry.stat(follow_symlinks=False)
        except OSError:
            continue
        if facts.st_nlink > 1:
            if (facts.st_dev, facts.st_ino) in seen:
                continue
            seen.add((facts.st_dev, facts.st_ino))
        total += facts.st_blocks * BLOCK
    return total


def _below(folder: Path) -> Iterator["os.DirEntry[str]"]:
    todo = [str(folder)]
    while todo:
        try:
            with os.scandir(todo.pop()) as entries:
                for entry in entries:
                    yield entry
                    if entry.is_dir(follow_symlinks=False):
                        todo.append(entry.path)
        except OSError:
            continue
