"""Carries bytes between the person's terminal and the shell's, and our own lines to the person."""

import contextlib
import os
import select
import termios
from queue import SimpleQueue
from typing import NamedTuple

from openrebench.human.recording import Size
from openrebench.human.sandbox import PersonSandbox
from openrebench.human.terminal import CHUNK, Terminal

MAX_TYPED = 1 << 16


class Ready(NamedTuple):
    """What can be done without waiting."""

    person: bool
    shell: bool
    shell_takes: bool
    sandbox: bool


class Relay:
    """All of it happens in one thread, but for `wake` and `tell`.

    Args:
        terminal: The person's.
        sandbox: Whose process 1 sends the shell's terminal.
    """

    def __init__(self, terminal: Terminal, sandbox: PersonSandbox) -> None:
        self._terminal, self._sandbox = terminal, sandbox
        self._lines: SimpleQueue[str] = SimpleQueue()
        self._wake_reader, self._wake_writer = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        self._shell: int | None = None
        self._size: Size | None = None
        self._typed = bytearray()

    def wake(self) -> None:
        """Let the thread that serves look around; from any thread."""
        with contextlib.suppress(OSError):  # full, so it wakes anyway; or closed
            os.write(self._wake_writer, b"\0")

    def tell(self, text: str) -> None:
        """Show a line to the person soon; from any thread."""
        self._lines.put(text)
        self.wake()

    def serve_once(self) -> bool:
        """Wait until something can be carried, and carry it; gives whether the sandbox is there.

        Raises:
            TerminalLost: There is no person's terminal any more.
        """
        ready = self._wait()
        if ready.shell:
            self._from_shell()
        if ready.person:
            self._typed += self._terminal.read()
        if ready.shell_takes:
            self._to_shell()
        return not ready.sandbox or self._new_shell()

    def wait_for_key(self) -> bytes:
        """Wait for keys or for being woken; gives the keys."""
        readable, _, _ = select.select([self._terminal.fd, self._wake_reader], [], [])
        if self._wake_reader in readable:
            self._look_around()
        return self._terminal.read() if self._terminal.fd in readable else b""

    def drop_shell(self) -> None:
        """Let go of the shell's terminal."""
        shell, self._shell = self._shell, None
        if shell is not None:
            os.close(shell)

    def close(self) -> None:
        """Let go of everything."""
        self.drop_shell()
        os.close(self._wake_reader)
        os.close(self._wake_writer)

    def _wait(self) -> Ready:
        assert self._sandbox.socket is not None
        sandbox, person, shell = self._sandbox.socket.fileno(), self._terminal.fd, self._shell
        readers = [self._wake_reader, sandbox, *([] if shell is None else [shell])]
        if len(self._typed) < MAX_TYPED:
            readers.append(person)
        writers = [shell] if self._typed and shell is not None else []
        readable, writable, _ = select.select(readers, writers, [])
        if self._wake_reader in readable:
            self._look_around()
        return Ready(person in readable, shell in readable, shell in writable, sandbox in readable)

    def _look_around(self) -> None:
        with contextlib.suppress(BlockingIOError):
            os.read(self._wake_reader, CHUNK)
        while not self._lines.empty():
            self._terminal.notice(self._lines.get())
        self._resize()

    def _from_shell(self) -> None:
        assert self._shell is not None
        try:
            data = os.read(self._shell, CHUNK)
        except BlockingIOError:
            return
        except OSError:  # no process holds the other end any more
            data = b""
        if data:
            self._terminal.show(data)
        else:
            self.drop_shell()

    def _to_shell(self) -> None:
        if self._shell is None:
            return
        try:
            sent = os.write(self._shell, self._typed)
        except BlockingIOError:
            return
        except OSError:
            sent = len(self._typed)
        del self._typed[:sent]

    def _new_shell(self) -> bool:
        """Take the terminal of a new shell; gives False if the sandbox has ended instead."""
        taken = self._sandbox.next_terminal()
        if taken is None:
            return False
        if self._shell is not None:
            self._from_shell()  # its last words
        self.drop_shell()
        self._shell, self._size = taken, None
        self._resize()
        return True

    def _resize(self) -> None:
        """Give the shell's terminal the size of the person's."""
        size = self._terminal.size
        if self._shell is None or size == self._size:
            return
        termios.tcsetwinsize(self._shell, size)
        if self._size is not None:
            self._terminal.resized(size)
        self._size = size
