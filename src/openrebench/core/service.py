"""A metered service: a callable of the trusted side that an environment offers to its solver.

    workspace/<name>.sock   where the solver asks: one JSON line in, one JSON line out
    attempt/<name>.jsonl    the journal: every request that was accepted, and what came of it

The solver can do with its end of the socket what it likes: what a request costs and whether it
is still allowed is decided on this side, from a journal that it can't write. Costs are booked
before the work begins, under a lock that other processes honour too, so that requests which race
each other can't share an allowance.
"""

import contextlib
import fcntl
import json
import os
import socket
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from contextvars import ContextVar
from datetime import UTC, datetime
from pathlib import Path
from typing import Protocol, Self, runtime_checkable

from pydantic import JsonValue

from openrebench.core.card import Profile
from openrebench.errors import ReBenchError

Request = Mapping[str, JsonValue]
Row = dict[str, JsonValue]

MAX_REQUEST_BYTES = 64 << 10
MAX_CONNECTIONS = 64
REQUEST_TIMEOUT_S = 30.0
_scored: ContextVar["Path | None"] = ContextVar("openrebench_scored_attempt", default=None)


class Refused(ReBenchError):
    """A request that is not answered, with one sentence for the solver."""


class Journal:
    """Rows of accepted requests: append-only, each forced to disk before the work goes on."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._rows: list[Row] = []
        self._read_bytes = 0
        self._reading = threading.Lock()

    def rows(self) -> list[Row]:
        """Read all finished rows; a last line that a crash left unfinished is passed over."""
        with self._reading:
            self._rows += [json.loads(line) for line in self._new_lines()]
            return list(self._rows)

    def _new_lines(self) -> list[bytes]:
        """Read what was finished since the last time."""
        if not self.path.exists():
            return []
        with self.path.open("rb") as file:
            file.seek(self._read_bytes)
            lines = [line for line in file if line.endswith(b"\n")]
        self._read_bytes += sum(map(len, lines))
        return lines

    def append(self, row: Request) -> None:
        """Write one row with the time, and force it to disk."""
        self.book(lambda _: row)

    def book(self, decide: Callable[[list[Row]], Request]) -> Row:
        """Write the row that is decided on from all rows, while nobody else can write.

        Args:
            decide: Gives the new row from the earlier ones, or raises `Refused`.

        Returns:
            The row as written, with the time.
        """
        with self._locked():
            row = {"at": datetime.now(UTC).isoformat(), **decide(self.rows())}
            fd = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
            try:
                os.ftruncate(fd, min(self._read_bytes, os.fstat(fd).st_size))  # a torn line
                os.write(fd, json.dumps(row).encode() + b"\n")
                os.fsync(fd)
            finally:
                os.close(fd)
            return row

    @contextlib.contextmanager
    def _locked(self) -> Iterator[None]:
        """Keep other threads and processes out."""
        fd = os.open(self.path.with_suffix(".lock"), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(fd, fcntl.LOCK_EX)
            yield
        finally:
            os.close(fd)


class Service(ABC):
    """What an environment offers during one attempt. Subclasses are final.

    Args:
        journal: The attempt's, which may hold rows of an earlier process.
    """

    name: str

    def __init__(self, journal: Journal) -> None:
        self.journal = journal

    @abstractmethod
    def answer(self, request: Request) -> Request:
        """Answer one request; called from several threads at a time.

        Raises:
            Refused: The request is malformed, or its cost isn't allowed.
        """

    def door(self, workspace: Path) -> "Entrance":
        """Open the service's socket in the solver's folder."""
        return Door(self, workspace)

    def close(self) -> None:  # noqa: B027
        """End what the service has started."""


class Entrance(Protocol):
    """An open door, of whatever protocol."""

    @property
    def service(self) -> Service:
        """What answers."""

    def quiet(self) -> contextlib.AbstractContextManager[None]:
        """Wait until every request so far is answered, and take no new ones meanwhile."""

    def close(self) -> None:
        """Answer nobody any more. Calling again does nothing."""

    def __enter__(self) -> Self: ...

    def __exit__(self, *_: object) -> None: ...


@runtime_checkable
class Offers(Protocol):
    """An environment that has a service."""

    service_name: str

    def service(self, profile: Profile, journal: Journal) -> Service:
        """Give the service for one attempt."""


class Door:
    """A service's socket in a workspace; open it before the solver starts.

    Args:
        service: What answers.
        workspace: The solver's folder.
    """

    def __init__(self, service: Service, workspace: Path) -> None:
        self.service = service
        self._path = workspace / f"{service.name}.sock"
        self._slots = threading.BoundedSemaphore(MAX_CONNECTIONS)
        self._listener = socket.socket(socket.AF_UNIX)
        try:
            bind(self._listener, self._path)
        except OSError:
            self._listener.close()
            raise
        self._listener.listen(MAX_CONNECTIONS)
        threading.Thread(target=self._accept, name=f"{service.name}-door", daemon=True).start()

    @contextlib.contextmanager
    def quiet(self) -> Iterator[None]:
        """Wait until every request so far is answered, and take no new ones meanwhile."""
        for _ in range(MAX_CONNECTIONS):
            self._slots.acquire()
        try:
            yield
        finally:
            self._slots.release(MAX_CONNECTIONS)

    def close(self) -> None:
        """Answer nobody any more. Calling again does nothing."""
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self.service.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            if not self._slots.acquire(blocking=False):
                connection.close()
                continue
            threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection: socket.socket) -> None:
        try:
            with connection, contextlib.suppress(OSError):
                connection.settimeout(REQUEST_TIMEOUT_S)
                reply = reply_to(self.service, _read_line(connection))
                connection.sendall(json.dumps(reply).encode() + b"\n")
        finally:
            self._slots.release()


def open_door(
    environment: object, profile: Profile, attempt: Path, workspace: Path
) -> Entrance | None:
    """Open the door of an attempt's service, or give None if its environment has none.

    Args:
        environment: Any environment.
        profile: The attempt's size.
        attempt: Folder of the attempt, which gets the journal.
        workspace: The solver's folder, before the solver's first command.
    """
    found = service_of(environment, profile, attempt)
    return None if found is None else found.door(workspace)


def service_of(environment: object, profile: Profile, attempt: Path) -> Service | None:
    """Give an attempt's service, for a door of another kind, or None."""
    if not isinstance(environment, Offers):
        return None
    return environment.service(profile, journal_of(environment, attempt))


def journal_of(environment: Offers, attempt: Path) -> Journal:
    """Give the journal that an environment's service keeps in an attempt's folder."""
    return Journal(attempt / f"{environment.service_name}.jsonl")


def reply_to(service: Service, line: bytes) -> Request:
    """Answer one line of JSON; a fault of ours is a sentence too, and books nothing further."""
    try:
        request = json.loads(line)
        if not isinstance(request, dict):
            raise Refused("a request is one line with a JSON object")
        return service.answer(request)
    except Refused as error:
        return {"error": str(error)}
    except (ValueError, RecursionError):
        return {"error": "a request is one line with a JSON object"}
    except Exception as error:  # noqa: BLE001 - the solver waits for an answer
        service.journal.append({"event": "error", "text": repr(error)})
        return {"error": "the service failed on our side; this request was not charged"}


@contextlib.contextmanager
def scoring(attempt: Path) -> Iterator[None]:
    """Let a score call know whose attempt it belongs to."""
    token = _scored.set(attempt)
    try:
        yield
    finally:
        _scored.reset(token)


def scored_journal(environment: Offers) -> Journal | None:
    """Give the journal of the attempt that is being scored, or None outside of an attempt."""
    attempt = _scored.get()
    return None if attempt is None else journal_of(environment, attempt)


def bind(listener: socket.socket, path: Path) -> None:
    """Bind a socket that any user may connect to, in place of an older one.

    Bound below an open folder: the path of a socket itself may have 107 bytes only.
    """
    folder = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY)
    try:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(path.name, dir_fd=folder)
        listener.bind(f"/proc/self/fd/{folder}/{path.name}")
        os.chmod(path.name, 0o666, dir_fd=folder)  # noqa: S103 - the solver has a user of its own
    finally:
        os.close(folder)


def _read_line(connection: socket.socket) -> bytes:
    """Read up to the first newline, or as much as a request may have."""
    line = b""
    while not line.endswith(b"\n") and len(line) < MAX_REQUEST_BYTES:
        part = connection.recv(4096)
        if not part:
            break
        line += part
    return line
