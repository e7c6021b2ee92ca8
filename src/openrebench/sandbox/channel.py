"""The host's end of the socket to a sandbox's process 1 (see execd.py)."""

import itertools
import json
import queue
import socket
import threading
from collections.abc import Mapping
from concurrent.futures import Future
from typing import Any, NamedTuple

SOCKET_GONE = "the sandbox is not running: its process 1 has ended"
READY = 0  # id of the first frame, which process 1 sends by itself


class ChannelClosed(Exception):
    """The sandbox ended, or never started."""


class Reply(NamedTuple):
    """One answer: what is said, and the bytes that go with it."""

    header: Mapping[str, Any]
    body: bytes


class Channel:
    """Blocking calls to process 1 from any thread; many may be open at a time.

    Writing has a thread of its own, so that asking never blocks: not on a large file, and not
    on a sandbox that is frozen while its submission is scored.
    """

    def __init__(self, sock: socket.socket) -> None:
        self._sock = sock
        self._ids = itertools.count(READY + 1)
        self._pending: dict[int, Future[Reply]] = {READY: Future()}
        self._lock = threading.Lock()
        self._closed = False
        self._outbox: queue.SimpleQueue[tuple[bytes, bytes] | None] = queue.SimpleQueue()
        self._threads = [
            threading.Thread(target=target, name=f"sandbox {target.__name__}", daemon=True)
            for target in (self._read, self._write)
        ]
        for thread in self._threads:
            thread.start()

    def wait_until_ready(self, timeout_s: float) -> None:
        """Wait for process 1 to serve.

        Raises:
            ChannelClosed: It ended instead.
            TimeoutError: It did neither.
        """
        self._pending[READY].result(timeout_s)

    def ask(self, request: Mapping[str, Any], payload: bytes = b"") -> tuple[int, Future[Reply]]:
        """Send a request; gives its number and what will hold the answer."""
        number = next(self._ids)
        future: Future[Reply] = Future()
        with self._lock:
            if self._closed:
                future.set_exception(ChannelClosed(SOCKET_GONE))
                return number, future
            self._pending[number] = future
        head = json.dumps({"id": number, **request, "size": len(payload)}).encode() + b"\n"
        self._outbox.put((head, payload))
        return number, future

    def kill(self, number: int) -> None:
        """Kill the command of an earlier request with its process group."""
        self.ask({"op": "kill", "target": number})

    def close(self) -> None:
        """Close the socket, which ends process 1; open calls fail. Calling again does nothing."""
        self._outbox.put(None)
        try:
            self._sock.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass  # the other end is gone already
        for thread in self._threads:
            if thread is not threading.current_thread():
                thread.join()
        self._sock.close()

    def _write(self) -> None:
        while (frame := self._outbox.get()) is not None:
            try:
                for part in frame:
                    self._sock.sendall(part)
            except OSError:
                return

    def _read(self) -> None:
        try:
            with self._sock.makefile("rb") as stream:
                while line := stream.readline():
                    header = json.loads(line)
                    self._resolve(Reply(header, stream.read(header["size"])))
        except (OSError, ValueError):
            pass  # torn down in the middle of a frame
        with self._lock:
            self._closed = True
            left, self._pending = self._pending, {READY: self._pending[READY]}
        for future in left.values():
            if not future.done():
                future.set_exception(ChannelClosed(SOCKET_GONE))

    def _resolve(self, reply: Reply) -> None:
        with self._lock:
            number = reply.header["id"]
            future = self._pending.get(number) if number == READY else self._pending.pop(number)
        if future is not None and not future.done():
            future.set_result(reply)
