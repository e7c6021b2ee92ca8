r"""Serve a plan as an OpenAI-compatible API on loopback: a real provider runs without a key.

    python -m openrebench.agents.plan_server plan.yaml --port 8123
    LOCAL_BASE_URL=http://127.0.0.1:8123/v1 LOCAL_API_KEY=none \
        re-bench run prefix_sum --agent modular --model openai-api/local/plan

Chat completions only, whole or as server-sent events, as the request asks. For tests and for
trying out a setup; it knows no users and listens on loopback alone.
"""

import argparse
import contextlib
import itertools
import json
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from openrebench.agents.plan import Item, Plan, calls_of, offered_name, read_script

LOOPBACK = "127.0.0.1"
USAGE = (10, 5)
FAILED = 400  # of what a client may repeat it would not hear the error for long
Json = dict[str, Any]


class PlanServer(ThreadingHTTPServer):
    """Answers by a plan, and keeps count of what it was asked.

    `requests` holds the number of requests that wanted a stream, and of those that did not.
    """

    daemon_threads = True

    def __init__(self, plan: Plan, port: int = 0) -> None:
        super().__init__((LOOPBACK, port), _Handler)
        self.plan = plan
        self.lock = threading.Lock()
        self.numbers = itertools.count()
        self.requests = {"streamed": 0, "whole": 0}

    @property
    def url(self) -> str:
        """What a client takes for its base URL."""
        return f"http://{LOOPBACK}:{self.server_port}/v1"

    def choose(self, request: Json) -> Item:
        """Choose the answer to a request."""
        messages: list[Json] = request["messages"]
        said = sum(message["role"] == "assistant" for message in messages)
        asked = "\n".join(_text(message) for message in messages if message["role"] == "user")
        with self.lock:
            self.requests["streamed" if request.get("stream") else "whole"] += 1
            return self.plan.answer(said, asked, _offered(request))


@contextlib.contextmanager
def serve_plan(items: Sequence[Item | list[Item]]) -> Iterator[PlanServer]:
    """Serve a plan from a thread of this process."""
    with PlanServer(Plan(items)) as server:
        thread = threading.Thread(target=server.serve_forever, name="plan server", daemon=True)
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()


class _Handler(BaseHTTPRequestHandler):
    server: PlanServer  # and one connection for each request, since clients leave theirs open

    def do_POST(self) -> None:
        """Answer a chat completion."""
        body = self.rfile.read(int(self.headers["Content-Length"]))
        if not self.path.endswith("/chat/completions"):
            return self._send(404, {"error": {"message": f"{self.path} is not served here"}})
        request = json.loads(body)
        item = self.server.choose(request)
        time.sleep(item.get("wait_s", 0))
        if "error" in item:
            return self._send(item.get("status", FAILED), {"error": {"message": item["error"]}})
        answer = completion(item, request, next(self.server.numbers))
        if request.get("stream"):
            return self._stream(chunks(answer))
        return self._send(200, answer)

    def _send(self, status: int, content: Json) -> None:
        body = json.dumps(content).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def _stream(self, parts: Iterator[Json]) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.end_headers()
        for part in parts:
            self.wfile.write(b"data: " + json.dumps(part).encode() + b"\n\n")
            self.wfile.flush()
        self.wfile.write(b"data: [DONE]\n\n")

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing of every request."""


def completion(item: Item, request: Mapping[str, Any], number: int) -> Json:
    """Give an item in the form of a chat completion."""
    calls = [
        {
            "id": f"call_{number}_{k}",
            "type": "function",
            "function": {
                "name": offered_name(call["tool"], _offered(request)),
                "arguments": _arguments(call.get("arguments", {})),
            },
        }
        for k, call in enumerate(calls_of(item))
    ]
    message: Json = {"role": "assistant", "content": item.get("text", "")}
    if calls:
        message["tool_calls"] = calls
    read, written = item.get("usage", USAGE)
    return {
        "id": f"plan-{number}",
        "object": "chat.completion",
        "created": int(time.time()),
        "model": request.get("model", "plan"),
        "choices": [
            {"index": 0, "message": message, "finish_reason": "tool_calls" if calls else "stop"}
        ],
        "usage": {
            "prompt_tokens": read,
            "completion_tokens": written,
            "total_tokens": read + written,
        },
    }


def chunks(answer: Json) -> Iterator[Json]:
    """Cut a completion into the events of a stream: texts and arguments in two parts each."""
    head = {key: answer[key] for key in ("id", "created", "model")}
    head["object"] = "chat.completion.chunk"
    (choice,) = answer["choices"]
    message = choice["message"]

    def event(delta: Json, finish: str | None = None) -> Json:
        return {**head, "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}

    yield event({"role": "assistant", "content": ""})
    for part in _halves(message["content"]):
        yield event({"content": part})
    for index, call in enumerate(message.get("tool_calls", [])):
        first, second = _halves(call["function"]["arguments"])
        begun = {**call, "index": index, "function": {**call["function"], "arguments": first}}
        yield event({"tool_calls": [begun]})
        yield event({"tool_calls": [{"index": index, "function": {"arguments": second}}]})
    yield event({}, choice["finish_reason"])
    yield {**head, "choices": [], "usage": answer["usage"]}


def _halves(text: str) -> tuple[str, str]:
    return text[: len(text) // 2], text[len(text) // 2 :]


def _arguments(given: object) -> str:
    return given if isinstance(given, str) else json.dumps(given)


def _offered(request: Mapping[str, Any]) -> list[str]:
    if request.get("tool_choice") == "none":
        return []
    return [tool["function"]["name"] for tool in request.get("tools") or []]


def _text(message: Json) -> str:
    content = message["content"]
    if isinstance(content, str):
        return content
    return "\n".join(part.get("text", "") for part in content or [])


def main() -> None:
    """Serve until interrupted."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else None)
    parser.add_argument("plan", type=Path)
    parser.add_argument("--port", type=int, default=8123)
    chosen = parser.parse_args()
    with PlanServer(Plan(read_script(chosen.plan)), chosen.port) as server:
        with contextlib.suppress(KeyboardInterrupt):
            server.serve_forever()


if __name__ == "__main__":
    main()
