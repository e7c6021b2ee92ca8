"""A terminal session as a file that asciinema and its players read (asciicast, version 2).

    recordings/001.cast   one file for each time the person sat down

Each event is one appended line, written before the terminal shows it. Only what the terminal
showed is kept: keys that a program did not echo, such as a password's, are not.

Source: the format as asciinema documents it, docs.asciinema.org/manual/asciicast/v2.
"""

import codecs
import json
import os
import time
from pathlib import Path
from typing import NamedTuple

FOLDER = "recordings"
MAX_BYTES = 512 << 20
FULL = "the recording ends here: it has reached its largest size"


class Size(NamedTuple):
    """Rows and columns of a terminal."""

    rows: int
    columns: int


class Recording:
    """A recording that is being made.

    Args:
        folder: The attempt's.
        size: Of the terminal.
        terminal: Its kind, such as `xterm-256color`.
        max_bytes: After so many the recording ends with a mark that says so: what a solver
            prints may not fill the disk.
    """

    def __init__(self, folder: Path, size: Size, terminal: str, max_bytes: int = MAX_BYTES) -> None:
        self._left = max_bytes
        self._began = time.monotonic()
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._fd = _next_file(folder / FOLDER)
        header = {
            "version": 2,
            "width": size.columns,
            "height": size.rows,
            "timestamp": int(time.time()),
            "env": {"TERM": terminal, "SHELL": "/bin/bash"},
        }
        self._line(header)

    def output(self, data: bytes) -> None:
        """Note what the terminal is about to show."""
        text = self._decoder.decode(data)
        if text:
            self._event("o", text)

    def resized(self, size: Size) -> None:
        """Note the terminal's new size."""
        self._event("r", f"{size.columns}x{size.rows}")

    def mark(self, text: str) -> None:
        """Note what happened at this moment, for whoever looks for it."""
        self._event("m", text)

    def close(self) -> None:
        """End the recording."""
        os.close(self._fd)

    def _event(self, kind: str, data: str) -> None:
        if self._left > 0:
            self._line([round(time.monotonic() - self._began, 6), kind, data])
            if self._left <= 0:
                self._line([round(time.monotonic() - self._began, 6), "m", FULL])

    def _line(self, data: object) -> None:
        line = memoryview(json.dumps(data, ensure_ascii=False).encode() + b"\n")
        self._left -= len(line)
        while line:
            line = line[os.write(self._fd, line) :]


def _next_file(folder: Path) -> int:
    folder.mkdir(exist_ok=True)
    number = len(list(folder.glob("*.cast"))) + 1
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND | os.O_CLOEXEC
    return os.open(folder / f"{number:03}.cast", flags, 0o600)
