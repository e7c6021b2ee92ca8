"""While a door is quiet nothing is answered, and nothing is lost."""

import json
import threading
from http.client import HTTPConnection
from pathlib import Path
from socket import AF_UNIX, socket

from openrebench.broker.upstream import Ask, Completion

from .conftest import MODEL, Echo, Make


class Held(Echo):
    """A model that answers when it is let."""

    def __init__(self) -> None:
        super().__init__()
        self.asked_once, self.go = threading.Event(), threading.Event()

    def complete(self, ask: Ask) -> Completion:
        self.asked_once.set()
        assert self.go.wait(30)
        return super().complete(ask)


def post(path: Path, answers: list[int]) -> threading.Thread:
    def ask() -> None:
        connection = HTTPConnection("broker")
        connection.sock = socket(AF_UNIX)
        connection.sock.connect(str(path))
        body = {"model": MODEL, "messages": [{"role": "user", "content": "hello"}]}
        connection.request("POST", "/v1/chat/completions", json.dumps(body))
        answers.append(connection.getresponse().status)
        connection.close()

    thread = threading.Thread(target=ask)
    thread.start()
    return thread


def test_quiet_waits_for_what_runs_and_holds_what_comes(make_door: Make, tmp_path: Path) -> None:
    model = Held()
    door, path = make_door(model=model), tmp_path / "workspace" / "broker.sock"
    answers: list[int] = []
    first = post(path, answers)
    assert model.asked_once.wait(30)
    threading.Timer(0.2, model.go.set).start()
    with door.quiet():
        first.join(30)
        assert answers == [200]
        second = post(path, answers)
        second.join(0.3)
        assert second.is_alive() and answers == [200]
    second.join(30)
    assert answers == [200, 200]
