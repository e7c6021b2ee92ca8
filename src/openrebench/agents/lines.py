"""A file of JSON lines that grows while an attempt runs and is read again after a crash."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Generic, TypeVar

from pydantic import BaseModel, ValidationError

Line = TypeVar("Line", bound=BaseModel)


class Lines(Generic[Line]):
    """Lines of one kind; each is on disk once `append` returns.

    Args:
        path: The file; made when the first line is written.
        kind: What a line is.
    """

    def __init__(self, path: Path, kind: type[Line]) -> None:
        self.path = path
        self.kind = kind

    def read(self) -> list[Line]:
        """Read all lines, passing over one that a crash left unfinished."""
        return list(self._whole()) if self.path.exists() else []

    def _whole(self) -> Iterator[Line]:
        for text in self.path.read_bytes().splitlines(keepends=True):
            if not text.endswith(b"\n"):
                return
            try:
                yield self.kind.model_validate_json(text)
            except ValidationError:
                continue  # the rest of a line that was cut, before the next began

    def append(self, line: Line) -> None:
        """Write a line and force it to disk."""
        fd = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o600)
        try:
            end = os.lseek(fd, 0, os.SEEK_END)
            torn = end > 0 and os.pread(fd, 1, end - 1) != b"\n"
            os.write(fd, b"\n" * torn + line.model_dump_json().encode() + b"\n")
            os.fsync(fd)
        finally:
            os.close(fd)
