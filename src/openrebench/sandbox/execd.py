"""Process 1 of a sandbox: starts commands and moves files for the host, over one socket.

Runs inside, with the agent's rights, from the standard library alone. Reach it only through the
inherited socket: it has no name that the agent could open, signals that the agent may send do
nothing to a process 1, and its memory and files are closed to other processes.

    python -I -S execd.py SOCKET_FD WORKING_FOLDER

Frames in both directions: one line of JSON whose `size` says how many raw bytes follow.
"""

import contextlib
import ctypes
import errno
import json
import os
import selectors
import signal
import socket
import stat
import subprocess
import sys
import time
from collections import deque
from collections.abc import Callable, Iterator
from typing import Any

CHUNK = 1 << 16
LINGER_S = 0.1  # how long output is awaited after a command's end when another holds the pipe
FORK_PATIENCE_S = 2.0  # how long a full process table is waited for, before and after clearing
PR_SET_DUMPABLE = 4
SACRIFICE_FIRST = b"500"  # oom_score_adj of commands: memory runs out for them before process 1
CLEARED = b"[the process limit was reached and no process could be started: all were ended]\n"

Request = dict[str, Any]


class Link:
    """Frames over the non-blocking socket."""

    def __init__(self, sock: socket.socket) -> None:
        self.sock = sock
        self.open = True
        self._inbox = bytearray()
        self._header: Request | None = None
        self.outbox: deque[memoryview] = deque()
        sock.setblocking(False)

    def receive(self) -> Iterator[tuple[Request, bytes]]:
        """Read what is there and yield the frames that are whole."""
        try:
            data = self.sock.recv(1 << 20)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        self.open = bool(data)
        self._inbox += data
        while (frame := self._frame()) is not None:
            yield frame

    def _frame(self) -> tuple[Request, bytes] | None:
        if self._header is None:
            line, newline, rest = self._inbox.partition(b"\n")
            if not newline:
                return None
            self._header, self._inbox = json.loads(line), rest
        size = int(self._header["size"])
        if len(self._inbox) < size:
            return None
        header, payload = self._header, bytes(self._inbox[:size])
        self._header = None
        del self._inbox[:size]
        return header, payload

    def send(self, header: Request, *parts: bytes) -> None:
        """Queue one frame."""
        head = header | {"size": sum(map(len, parts))}
        for part in (json.dumps(head).encode() + b"\n", *parts):
            if part:
                self.outbox.append(memoryview(part))
        self.flush()

    def flush(self) -> None:
        """Send what the socket takes now."""
        while self.outbox:
            try:
                sent = self.sock.send(self.outbox[0])
            except BlockingIOError:
                return
            except OSError:
                self.open = False
                return
            self.outbox[0] = self.outbox[0][sent:]
            if not self.outbox[0]:
                self.outbox.popleft()


class Tail:
    """The last bytes of a stream, up to a limit."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self._chunks: deque[bytes] = deque()
        self._kept = 0

    def add(self, chunk: bytes) -> None:
        """Append, and forget from the front what is over the limit."""
        self._chunks.append(chunk)
        self._kept += len(chunk)
        while self._chunks and self._kept - len(self._chunks[0]) >= self.limit:
            self._kept -= len(self._chunks.popleft())

    def close(self) -> bytes:
        """Give what was kept; whatever comes after is dropped."""
        data = b"".join(self._chunks)[-self.limit :] if self.limit else b""
        self.limit, self._kept = 0, 0
        self._chunks.clear()
        return data


class Command:
    """One command that the host waits for."""

    def __init__(self, request: Request, process: "subprocess.Popen[bytes]") -> None:
        self.id = int(request["id"])
        self.process = process
        timeout_s = request.get("timeout_s")
        self.kill_at = time.monotonic() + timeout_s if timeout_s else None
        self.answer_at: float | None = None
        self.timed_out = False
        self.streams = (Tail(request["limit"]), Tail(request["limit"]))
        self.open_streams = 2

    @property
    def due(self) -> float | None:
        """When something must be done about it even if nothing happens."""
        return self.kill_at if self.answer_at is None else self.answer_at

    def kill(self) -> None:
        """Kill the command and all of its process group."""
        if self.answer_at is None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self.process.pid, signal.SIGKILL)
        self.kill_at = None


class Server:
    """Takes requests until the host closes the socket."""

    def __init__(self, link: Link) -> None:
        self.link = link
        self.selector = selectors.DefaultSelector()
        self.commands: dict[int, Command] = {}
        self.waiting: list[tuple[Request, bytes, float]] = []
        self.cleared: set[int] = set()
        self.base_env = dict(os.environ)
        # Opened now: a process that is closed to others can't open its own files either.
        self.oom_fd = os.open("/proc/self/oom_score_adj", os.O_RDWR | os.O_CLOEXEC)

    def run(self) -> None:
        """Serve until the host is gone; as process 1, everything ends with it."""
        woken = _wake_on_child_exit()
        self.selector.register(woken, selectors.EVENT_READ, lambda: _drain(woken))
        self.selector.register(self.link.sock, selectors.EVENT_READ, self._on_socket)
        while self.link.open:
            self._watch_socket()
            for key, _ in self.selector.select(self._patience()):
                key.data()
            self._reap()
            self._tick(time.monotonic())

    def _watch_socket(self) -> None:
        events = selectors.EVENT_READ
        if self.link.outbox:
            events |= selectors.EVENT_WRITE
        self.selector.modify(self.link.sock, events, self._on_socket)

    def _on_socket(self) -> None:
        self.link.flush()
        for request, payload in self.link.receive():
            self._handle(request, payload)

    def _patience(self) -> float | None:
        if self.waiting:
            return LINGER_S
        due = [c.due for c in self.commands.values() if c.due is not None]
        return max(0.0, min(due) - time.monotonic()) if due else None

    def _handle(self, request: Request, payload: bytes) -> None:
        try:
            if request["op"] == "exec":
                self._start(request, payload, time.monotonic() + FORK_PATIENCE_S)
            elif request["op"] == "kill":
                for command in self.commands.values():
                    if command.id == request["target"]:
                        command.kill()
                self._answer(request["id"], {})
            elif request["op"] == "read":
                self._answer(request["id"], {}, read_file(request["path"], request["limit"]))
            elif request["op"] == "write":
                write_file(request["path"], payload)
                self._answer(request["id"], {})
        except (OSError, OverflowError, MemoryError, ValueError) as error:
            self._answer(request["id"], {"error": type(error).__name__, "text": str(error)})

    def _answer(self, request_id: int, header: Request, *parts: bytes) -> None:
        self.link.send({"id": request_id, **header}, *parts)

    def _start(self, request: Request, stdin: bytes, give_up_at: float) -> None:
        try:
            process = self._spawn(request)
        except PermissionError:
            raise
        except OSError as error:
            if error.errno in (errno.EAGAIN, errno.ENOMEM):
                self._wait_for_room(request, stdin, give_up_at)
                return
            text = f"{error.filename or request['argv'][0]}: {error.strerror}\n"
            code = 127 if isinstance(error, FileNotFoundError) else 126
            self._answer_exec(request["id"], code, b"", text.encode())
            return
        command = Command(request, process)
        self.commands[process.pid] = command
        for tail, pipe in zip(command.streams, (process.stdout, process.stderr), strict=True):
            assert pipe is not None
            self._read_from(command, tail, pipe.fileno(), pipe.close)
        if process.stdin is not None:
            self._write_to(process.stdin.fileno(), process.stdin.close, memoryview(stdin))

    def _spawn(self, request: Request) -> "subprocess.Popen[bytes]":
        os.pwrite(self.oom_fd, SACRIFICE_FIRST, 0)
        try:
            return subprocess.Popen(
                request["argv"],
                stdin=subprocess.PIPE if request["has_stdin"] else subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                cwd=request["cwd"],
                env=self.base_env | request["env"],
                start_new_session=True,
                bufsize=0,
            )
        finally:
            os.pwrite(self.oom_fd, b"0", 0)

    def _wait_for_room(self, request: Request, stdin: bytes, give_up_at: float) -> None:
        """Wait for the process table to have room; when it stays full, end what fills it."""
        now = time.monotonic()
        if now < give_up_at:
            self.waiting.append((request, stdin, give_up_at))
        elif request["id"] in self.cleared or os.getpid() != 1:
            self._answer_exec(request["id"], 126, b"", b"")
        else:
            self.cleared.add(request["id"])
            os.kill(-1, signal.SIGKILL)  # from process 1: every process of this sandbox but itself
            self.waiting.append((request, stdin, now + FORK_PATIENCE_S))

    def _read_from(self, command: Command, tail: Tail, fd: int, close: Callable[[], None]) -> None:
        os.set_blocking(fd, False)

        def on_readable() -> None:
            try:
                chunk = os.read(fd, CHUNK)
            except BlockingIOError:
                return
            if chunk:
                tail.add(chunk)
                return
            self.selector.unregister(fd)
            close()
            command.open_streams -= 1

        self.selector.register(fd, selectors.EVENT_READ, on_readable)

    def _write_to(self, fd: int, close: Callable[[], None], data: memoryview) -> None:
        os.set_blocking(fd, False)
        left = data

        def on_writable() -> None:
            nonlocal left
            with contextlib.suppress(BlockingIOError):
                try:
                    left = left[os.write(fd, left[:CHUNK]) :] if left else left
                except BrokenPipeError:
                    left = left[:0]
            if not left:
                self.selector.unregister(fd)
                close()

        self.selector.register(fd, selectors.EVENT_WRITE, on_writable)

    def _reap(self) -> None:
        """Collect ended processes, also the orphans that a process 1 inherits."""
        with contextlib.suppress(ChildProcessError):
            while (ended := os.waitpid(-1, os.WNOHANG))[0]:
                pid, status = ended
                if pid in self.commands:
                    command = self.commands[pid]
                    command.process.returncode = os.waitstatus_to_exitcode(status)
                    command.answer_at = time.monotonic() + LINGER_S

    def _tick(self, now: float) -> None:
        waiting, self.waiting = self.waiting, []
        for request, stdin, give_up_at in waiting:
            self._start(request, stdin, give_up_at)
        for pid, command in list(self.commands.items()):
            if command.kill_at is not None and command.answer_at is None and now >= command.kill_at:
                command.timed_out = True
                command.kill()
            ended = command.answer_at is not None
            if ended and (command.open_streams == 0 or now >= (command.answer_at or 0.0)):
                self._finish(self.commands.pop(pid))

    def _finish(self, command: Command) -> None:
        code = command.process.returncode
        out, err = (tail.close() for tail in command.streams)
        if command.timed_out:
            self._answer(command.id, {"timed_out": True})
        else:
            self._answer_exec(command.id, 128 - code if code < 0 else code, out, err)

    def _answer_exec(self, request_id: int, code: int, out: bytes, err: bytes) -> None:
        if request_id in self.cleared:
            self.cleared.discard(request_id)
            err = CLEARED + err
        self._answer(request_id, {"code": code, "out": len(out)}, out, err)


def read_file(path: str, limit: int) -> bytes:
    """Read a regular file of at most `limit` bytes."""
    with os.fdopen(_open_regular(path, os.O_RDONLY), "rb") as file:
        data = file.read(limit + 1)
    if len(data) > limit:
        raise OverflowError(path)
    return data


def write_file(path: str, data: bytes) -> None:
    """Write a regular file, making its folders."""
    os.makedirs(os.path.dirname(os.path.abspath(path)), exist_ok=True)
    fd = _open_regular(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    with os.fdopen(fd, "wb") as file:
        file.write(data)


def _open_regular(path: str, flags: int) -> int:
    """Open without ever waiting: a pipe that nobody reads would hold up all other requests."""
    try:
        fd = os.open(path, flags | os.O_NONBLOCK | os.O_CLOEXEC, 0o644)
    except NotADirectoryError as error:
        raise FileNotFoundError(error.errno, error.strerror, path) from error
    kind = os.fstat(fd).st_mode
    if stat.S_ISREG(kind):
        return fd
    os.close(fd)
    if stat.S_ISDIR(kind):
        raise IsADirectoryError(errno.EISDIR, "is a directory", path)
    raise OSError(errno.EINVAL, "is not a regular file", path)


def _close_to_others() -> None:
    """Forbid that processes of the same user trace this one or open its memory and files."""
    if ctypes.CDLL(None, use_errno=True).prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "prctl(PR_SET_DUMPABLE)")


def _wake_on_child_exit() -> int:
    """Give a descriptor that becomes readable when a child ends."""
    reader, writer = os.pipe()
    os.set_blocking(reader, False)
    os.set_blocking(writer, False)
    signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    return reader


def _drain(fd: int) -> None:
    with contextlib.suppress(BlockingIOError):
        os.read(fd, CHUNK)


def main() -> None:
    """Serve on the socket given by number, in the folder given."""
    # The agent may send process 1 only signals that it handles: with Python's own handler an
    # interrupt would end it, and everything with it.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    os.chdir(sys.argv[2])
    server = Server(Link(socket.socket(fileno=int(sys.argv[1]))))
    _close_to_others()
    server.link.send({"id": 0})
    server.run()


if __name__ == "__main__":
    main()
