"""The person's own terminal, while it shows the shell in the sandbox."""

import contextlib
import os
import re
import select
import sys
import termios
import tty
from types import TracebackType
from typing import Self

from openrebench.errors import ReBenchError
from openrebench.human.recording import Recording, Size

ENTER, LEAVE = b"\r\n", b"qQ\x03\x04"
CHUNK = 1 << 16
DEFAULT_SIZE, DEFAULT_KIND = Size(24, 80), "xterm-256color"
TRUE_COLOURS = ("truecolor", "24bit")
# Leave the other screen, show the cursor, and end what programs may have switched on: mouse
# reports, bracketed paste, colours.
RESET = b"\x1b[?1049l\x1b[?25h\x1b[?1000l\x1b[?1002l\x1b[?1003l\x1b[?1006l\x1b[?2004l\x1b[0m\r\n"
CLEAR = b"\x1b[2J\x1b[H"


class TerminalLost(Exception):
    """Nobody is at the other end any more."""


class Terminal:
    """Standard input and output as a raw terminal, for a `with` statement.

    What programs of the sandbox print reaches the person's terminal as it is. Answers that a
    terminal gives to a program's questions are thrown away at the end, so that they can't
    become the input of whatever reads next.
    """

    def __init__(self) -> None:
        self.fd = sys.stdin.fileno()
        self._out = sys.stdout.fileno()
        if not (os.isatty(self.fd) and os.isatty(self._out)):
            raise ReBenchError("a person works in a terminal; standard input or output is none")
        self.recording: Recording | None = None

    def __enter__(self) -> Self:
        self._saved = termios.tcgetattr(self.fd)
        tty.setraw(self.fd)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        try:
            self._write(RESET)
            termios.tcsetattr(self.fd, termios.TCSAFLUSH, self._saved)
        except (TerminalLost, termios.error):
            pass  # then there is nothing to put right

    @property
    def kind(self) -> str:
        """What the terminal calls itself, if that is a plain name."""
        name = os.environ.get("TERM", "")
        return name if re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9.+_-]{0,40}", name) else DEFAULT_KIND

    @property
    def env(self) -> dict[str, str]:
        """What programs of the shell have to know of it."""
        colours = os.environ.get("COLORTERM", "")
        return {"TERM": self.kind} | ({"COLORTERM": colours} if colours in TRUE_COLOURS else {})

    @property
    def size(self) -> Size:
        """Rows and columns."""
        try:
            found = Size(*termios.tcgetwinsize(self._out))
        except termios.error:
            return DEFAULT_SIZE
        return found if all(found) else DEFAULT_SIZE

    def read(self) -> bytes:
        """Read what was typed.

        Raises:
            TerminalLost: There is no terminal any more.
        """
        try:
            data = os.read(self.fd, CHUNK)
        except OSError as error:
            raise TerminalLost from error
        if not data:
            raise TerminalLost
        return data

    def forget(self) -> None:
        """Throw away what was typed, or answered by the terminal, and not read yet."""
        with contextlib.suppress(termios.error):
            termios.tcflush(self.fd, termios.TCIFLUSH)

    def show(self, data: bytes) -> None:
        """Show bytes as they are, and record them."""
        if self.recording is not None:
            self.recording.output(data)
        self._write(data)

    def resized(self, size: Size) -> None:
        """Record that the terminal has another size."""
        if self.recording is not None:
            self.recording.resized(size)

    def notice(self, text: str) -> None:
        """Show a line of our own."""
        if self.recording is not None:
            self.recording.mark(text)
        lines = text.replace("\n", "\r\n")
        self.show(f"\r\n\x1b[7m re-bench \x1b[0m {lines}\r\n".encode())

    def _write(self, data: bytes) -> None:
        left = memoryview(data)
        while left:
            try:
                left = left[os.write(self._out, left) :]
            except BlockingIOError:
                select.select([], [self._out], [])
            except OSError as error:
                raise TerminalLost from error
