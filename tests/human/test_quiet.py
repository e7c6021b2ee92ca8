"""A pause waits for what a metered service has accepted, and lets nothing more in."""

import json
import socket
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import final

from openrebench.core.service import Door, Journal, Request, Service


@final
class Slow(Service):
    """Answers when it is told to."""

    name = "slow"

    def __init__(self, folder: Path) -> None:
        super().__init__(Journal(folder / "slow.jsonl"))
        self.begun, self.go_on = threading.Event(), threading.Event()

    def answer(self, request: Request) -> Request:
        self.begun.set()
        self.go_on.wait()
        return {"done": True}


def ask(folder: Path) -> bytes:
    """Ask and wait for the answer; nothing if the door was shut in the asker's face."""
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(str(folder / "slow.sock"))
        try:
            connection.sendall(b"{}\n")
            with connection.makefile("rb") as stream:
                return stream.readline()
        except (BrokenPipeError, ConnectionResetError):
            return b""


def test_quiet_waits_and_turns_away(tmp_path: Path) -> None:
    service, quiet = Slow(tmp_path), threading.Event()
    with Door(service, tmp_path) as door, ThreadPoolExecutor() as askers:
        first = askers.submit(ask, tmp_path)
        service.begun.wait()
        over = threading.Event()

        def pause() -> None:
            with door.quiet():
                quiet.set()
                over.wait()

        pausing = threading.Thread(target=pause)
        pausing.start()
        assert not quiet.wait(0.2)  # the first request is not answered yet
        service.go_on.set()
        assert quiet.wait(10)
        assert json.loads(first.result()) == {"done": True}
        assert ask(tmp_path) == b""
        over.set()
        pausing.join()
        assert json.loads(ask(tmp_path)) == {"done": True}
