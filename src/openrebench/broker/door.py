"""The broker's socket: HTTP/1.1 over a UNIX socket in the solver's workspace.

    POST /v1/chat/completions    OpenAI's protocol, whole or as server-sent events
    GET  /v1/models              the one model
    GET  /v1/usage               what is used, and the caps (not OpenAI's)

The other end is untrusted: sizes, times and the number of connections are capped, and whatever
comes in is answered or dropped without an effect on anybody else.
"""

import contextlib
import json
import socket
import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from socketserver import ThreadingMixIn, UnixStreamServer
from typing import Any, Self

from openrebench.broker import wire
from openrebench.broker.service import Broker
from openrebench.broker.wire import Body, Refusal
from openrebench.core.service import bind

BACKLOG = 1024  # connections that wait; a full queue turns clients away
MAX_CONNECTIONS = 768
MAX_BODY_BYTES = 512 << 10
MAX_PARSED = 4  # bodies at a time: parsed, they can be fifty times as large
MAX_DROPPED_BYTES = 16 << 20
POLL_S = 0.05  # how soon closing is noticed
IDLE_TIMEOUT_S = 120.0
BUSY = b"HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"


class HttpDoor:
    """A broker's socket in a folder, open until it is closed.

    Args:
        service: The broker.
        workspace: Folder that gets `broker.sock`.
    """

    def __init__(self, service: Broker, workspace: Path) -> None:
        self.service = service
        self._server = _Server(service, workspace / f"{service.name}.sock")
        self._thread = threading.Thread(
            target=self._server.serve_forever, args=(POLL_S,), name="broker-door", daemon=True
        )
        self._thread.start()

    def quiet(self) -> AbstractContextManager[None]:
        """Wait until every request so far is answered, and take no new ones meanwhile."""
        return self._server.gate.shut()

    def close(self) -> None:
        """Answer nobody any more. Calling again does nothing."""
        self.service.close()
        self._server.shutdown()
        self._server.server_close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class _Gate:
    """Lets requests through until it is shut, which waits for those inside."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._inside, self._shut = 0, False

    @contextmanager
    def through(self) -> Iterator[None]:
        with self._changed:
            self._changed.wait_for(lambda: not self._shut)
            self._inside += 1
        try:
            yield
        finally:
            with self._changed:
                self._inside -= 1
                self._changed.notify_all()

    @contextmanager
    def shut(self) -> Iterator[None]:
        with self._changed:
            self._shut = True
            self._changed.wait_for(lambda: self._inside == 0)
        try:
            yield
        finally:
            with self._changed:
                self._shut = False
                self._changed.notify_all()


class _Server(ThreadingMixIn, UnixStreamServer):
    daemon_threads = True
    block_on_close = False
    request_queue_size = BACKLOG

    def __init__(self, broker: Broker, path: Path) -> None:
        self.broker, self._path, self.gate = broker, path, _Gate()
        self._slots = threading.BoundedSemaphore(MAX_CONNECTIONS)
        self.parsing = threading.BoundedSemaphore(MAX_PARSED)
        super().__init__(str(path), _Handler)

    def server_bind(self) -> None:
        """Bind where any user may connect."""
        bind(self.socket, self._path)

    def process_request(self, request: Any, client_address: Any) -> None:  # noqa: ANN401
        """Answer in a thread of its own, or turn away."""
        if self._slots.acquire(blocking=False):
            super().process_request(request, client_address)
            return
        with contextlib.suppress(OSError):
            request.sendall(BUSY)
        self.shutdown_request(request)

    def process_request_thread(self, request: Any, client_address: Any) -> None:  # noqa: ANN401
        """Answer a connection, and make room for another."""
        try:
            super().process_request_thread(request, client_address)
        finally:
            self._slots.release()

    def handle_error(self, request: Any, client_address: Any) -> None:  # noqa: ANN401
        """Say nothing: the other end went away, or it will see that we did."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server_version, sys_version = "broker", ""
    timeout = IDLE_TIMEOUT_S
    server: _Server
    connection: socket.socket

    def do_GET(self) -> None:
        """List the model, or what is used."""
        broker = self.server.broker
        found = {
            "/v1/models": lambda: wire.models_body(broker.model),
            f"/v1/models/{broker.model}": lambda: wire.model_body(broker.model),
            "/v1/usage": broker.usage,
        }.get(self.path)
        if found is None:
            self._refuse(_unknown(self.path))
        else:
            self._send(200, found())

    def do_POST(self) -> None:
        """Answer a request for completions."""
        try:
            text = self._read()
            if self.path != "/v1/chat/completions":
                raise _unknown(self.path)
            with self.server.parsing:
                request = wire.read_request(_parsed(text))
            with self.server.gate.through():
                body = self.server.broker.reply(request)
        except Refusal as refusal:
            self._refuse(refusal)
            return
        if request.stream:
            options = request.stream_options
            self._stream(body, options is not None and options.include_usage)
        else:
            self._send(200, body)

    def log_message(self, format: str, *args: object) -> None:
        """Print nothing: the journal is the log."""

    def _read(self) -> bytes:
        """Read the request's body; one that can't be read ends the connection."""
        self.close_connection = True
        length = self.headers.get("content-length", "")
        if not length.isdecimal():
            raise Refusal(411, "length_required", "a request needs the header Content-Length")
        if int(length) > MAX_BODY_BYTES:
            self._drop(int(length))
            message = f"the request has {length} bytes; it may have {MAX_BODY_BYTES}"
            raise Refusal(413, "too_large", message)
        text = self.rfile.read(int(length))
        self.close_connection = self.headers.get("connection", "").lower() == "close"
        return text

    def _drop(self, length: int) -> None:
        """Read a body that is too large, within reason, so that its sender gets to the answer."""
        left = min(length, MAX_DROPPED_BYTES)
        while left > 0 and (part := self.rfile.read1(min(left, MAX_BODY_BYTES))):
            left -= len(part)

    def _refuse(self, refusal: Refusal) -> None:
        self._send(refusal.status, refusal.body())

    def _send(self, status: int, body: Body) -> None:
        content = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        if status >= 400:
            self.send_header("x-should-retry", "false")  # asking again won't change the answer
        if self.close_connection:
            self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.write(content)

    def _stream(self, body: Body, include_usage: bool) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        for event in wire.events(body, include_usage=include_usage):
            self.wfile.write(b"%x\r\n%s\r\n" % (len(event), event))
        self.wfile.write(b"0\r\n\r\n")


def _parsed(text: bytes) -> Body:
    try:
        request = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise Refusal(400, "invalid_json", "the request is not JSON") from error
    if not isinstance(request, dict):
        raise Refusal(400, "invalid_json", "the request is not a JSON object")
    return request


def _unknown(path: str) -> Refusal:
    return Refusal(404, "not_found", f"{path[:80]} is not offered; see /v1/chat/completions")
