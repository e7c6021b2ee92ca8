"""What the trusted side and a worker say to each other: small messages and files, never objects."""

import errno
import fcntl
import json
import mmap
import os
import select
import socket
import time
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int32]
NONCE_BYTES = 32
MESSAGE_BYTES = 512  # more of a message is cut off
HEADER_BYTES = 8
POISON_WORDS = 1 << 14
F_SEAL_FUTURE_WRITE = 0x10  # Linux 5.1; not in Python's fcntl yet


class Timeout(Exception):
    """The worker did not answer in time."""


class Dead(Exception):
    """The worker closed its end."""


class Answer(NamedTuple):
    """A worker's answer: whose nonce it carries, and its text."""

    nonce: bytes
    text: str


class Channel:
    """One end of a socket pair that keeps messages apart."""

    def __init__(self) -> None:
        self._ours, self.theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)

    def close_theirs(self) -> None:
        """Leave the other end to the worker alone."""
        self.theirs.close()

    def close(self) -> None:
        """Close our end."""
        self._ours.close()

    def send(self, message: bytes, fds: list[int], timeout_s: float) -> None:
        """Send a message, with files if any.

        Raises:
            Dead: Nobody is there to read it.
            Timeout: The worker does not read.
        """
        self._ours.settimeout(timeout_s)
        try:
            socket.send_fds(self._ours, [message], fds)
        except TimeoutError as error:
            raise Timeout from error
        except OSError as error:
            raise Dead from error

    def receive(self, timeout_s: float) -> bytes:
        """Wait for a message; files that come with it are dropped by the kernel.

        Raises:
            Dead: The worker closed its end.
            Timeout: Nothing came in time.
        """
        watch = select.poll()
        watch.register(self._ours, select.POLLIN)
        if not watch.poll(timeout_s * 1e3):
            raise Timeout
        try:
            message = self._ours.recv(MESSAGE_BYTES)
        except OSError as error:
            raise Dead from error
        if not message:
            raise Dead
        return message

    def answer(self, timeout_s: float) -> Answer:
        """Wait for the answer to a request (see `receive`)."""
        message = self.receive(timeout_s)
        text = message[NONCE_BYTES:].decode("utf-8", "replace")
        return Answer(message[:NONCE_BYTES], text)

    def spin(self, timeout_s: float) -> Answer:
        """Wait for the answer to a request without sleeping, where microseconds count."""
        deadline = time.perf_counter() + timeout_s
        while self.is_silent():
            if time.perf_counter() > deadline:
                raise Timeout
        return self.answer(0)

    def is_silent(self) -> bool:
        """Tell whether nothing came in that nobody asked for."""
        return not select.select([self._ours], [], [], 0)[0]


def clock() -> float:
    """Read the clock that scores are made of."""
    return time.perf_counter()


def seals(*, writable: bool) -> int:
    """What nobody can do to a shared file any more.

    A file that shrank under the trusted side would end it with SIGBUS.
    """
    fixed = fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | fcntl.F_SEAL_SEAL
    return fixed if writable else fixed | fcntl.F_SEAL_WRITE


def sealed_file(content: bytes | memoryview) -> int:
    """Put bytes into a new file that can't change any more."""
    fd = _new_file()
    left = memoryview(content)
    while len(left):
        left = left[os.write(fd, left) :]
    _forbid_writing(fd)
    return fd


def shared_output(capacity_bytes: int) -> tuple[int, Ints]:
    """Make the buffer that a worker writes its results to; ours is mapped and touched."""
    size = max(capacity_bytes, mmap.PAGESIZE)
    fd = _new_file()
    os.ftruncate(fd, size)
    buffer = mmap.mmap(fd, size, flags=mmap.MAP_SHARED | mmap.MAP_POPULATE)
    fcntl.fcntl(fd, fcntl.F_ADD_SEALS, seals(writable=True))
    return fd, np.frombuffer(buffer, np.int32, count=size // 4)


def fresh_input_fd(x: Ints) -> int:
    """Put an input into a file of its own, which the worker gets only when the clock runs."""
    return sealed_file(np.ascontiguousarray(x).view(np.uint8).data)


def poison(output: Ints) -> None:
    """Fill a buffer with random words, so that what stood there can't pass for a result."""
    tile = np.frombuffer(os.urandom(4 * POISON_WORDS), np.int32)
    for start in range(0, len(output), POISON_WORDS):
        part = output[start : start + POISON_WORDS]
        part[:] = tile[: len(part)]


def archive(files: Mapping[str, bytes]) -> int:
    """Pack files: length of the index, the index (names and sizes, JSON), contents."""
    index = json.dumps([[name, len(content)] for name, content in files.items()]).encode()
    return sealed_file(
        b"".join([len(index).to_bytes(HEADER_BYTES, "little"), index, *files.values()])
    )


def _forbid_writing(fd: int) -> None:
    """Seal a file that only this process has, and has not mapped.

    `F_SEAL_WRITE` waits until nothing else holds a page of the file, as the kernel itself does for
    moments, and gives up after 0.15 s; on a busy machine that is too soon. `F_SEAL_FUTURE_WRITE`
    spares writable mappings that exist; here there are none, so it forbids as much.
    """
    try:
        fcntl.fcntl(fd, fcntl.F_ADD_SEALS, seals(writable=False))
    except OSError as error:
        if error.errno != errno.EBUSY:
            raise
        fcntl.fcntl(fd, fcntl.F_ADD_SEALS, seals(writable=True) | F_SEAL_FUTURE_WRITE)


def _new_file() -> int:
    return os.memfd_create("openrebench", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
