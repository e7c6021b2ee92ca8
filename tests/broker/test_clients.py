"""Real clients talk to the broker's socket as they would to OpenAI."""

import asyncio
import json
import shutil
import subprocess
from http.client import HTTPConnection
from pathlib import Path
from socket import AF_UNIX, socket
from typing import Any

import aiohttp
import httpx
import openai
import pytest

from openrebench.broker.door import HttpDoor
from openrebench.core.service import Journal

from .conftest import MODEL, Make

HELLO: list[Any] = [{"role": "user", "content": "hello"}]


@pytest.fixture
def door(make_door: Make) -> HttpDoor:
    return make_door()


@pytest.fixture
def path(door: HttpDoor, tmp_path: Path) -> str:
    return str(tmp_path / "workspace" / "broker.sock")


def client(path: str) -> openai.OpenAI:
    http = httpx.Client(transport=httpx.HTTPTransport(uds=path))
    return openai.OpenAI(base_url="http://broker/v1", api_key="none", http_client=http)


def test_openai_gets_as_many_completions_as_it_asks_for(path: str) -> None:
    with client(path) as ai:
        got = ai.chat.completions.create(model=MODEL, messages=HELLO, n=3, temperature=0.5)
        assert [choice.message.content for choice in got.choices] == [
            "hello #0",
            "hello #1",
            "hello #2",
        ]
        assert got.model == MODEL and got.usage is not None and got.usage.prompt_tokens == 2
        assert [model.id for model in ai.models.list()] == [MODEL]
        assert ai.models.retrieve(MODEL).id == MODEL


def test_openai_streams(path: str) -> None:
    with client(path) as ai:
        stream = ai.chat.completions.create(
            model=MODEL, messages=HELLO, n=2, stream=True, stream_options={"include_usage": True}
        )
        chunks = list(stream)
    texts = ["", ""]
    for chunk in chunks:
        for choice in chunk.choices:
            texts[choice.index] += choice.delta.content or ""
    assert texts == ["hello #0", "hello #1"]
    assert chunks[-1].usage is not None and chunks[-1].usage.completion_tokens == 4


def test_openai_is_told_that_another_model_is_not_offered(path: str, tmp_path: Path) -> None:
    with client(path) as ai, pytest.raises(openai.NotFoundError, match="only model is 'pinned-1'"):
        ai.chat.completions.create(model="gpt-5", messages=HELLO)
    assert Journal(tmp_path / "broker.jsonl").rows() == []


def test_openai_is_told_what_is_not_offered(path: str) -> None:
    with client(path) as ai, pytest.raises(openai.BadRequestError, match="tools: is not offered"):
        ai.chat.completions.create(model=MODEL, messages=HELLO, tools=[])


async def _many(path: str, calls: int, n: int) -> list[list[str | None]]:
    limits = httpx.Limits(max_connections=calls)
    transport = httpx.AsyncHTTPTransport(uds=path, limits=limits)
    async with (
        httpx.AsyncClient(transport=transport, timeout=60) as http,
        openai.AsyncOpenAI(
            base_url="http://broker/v1", api_key="none", http_client=http, max_retries=0
        ) as ai,
    ):
        create = ai.chat.completions.create
        asked = [create(model=MODEL, messages=HELLO, n=n) for _ in range(calls)]
        return [[c.message.content for c in got.choices] for got in await asyncio.gather(*asked)]


def test_300_parallel_calls_of_18_lose_nothing(path: str, tmp_path: Path) -> None:
    got = asyncio.run(_many(path, 300, 18))
    texts = [text for one in got for text in one]
    assert sorted(texts) == sorted(f"hello #{k}" for k in range(300 * 18))
    rows = Journal(tmp_path / "broker.jsonl").rows()
    assert sorted(row["call"] for row in rows if row["event"] == "answered") == list(range(300))
    assert sum(len(row.get("completions", [])) for row in rows) == 300 * 18


def test_aiohttp_works_too(path: str) -> None:
    async def ask() -> Any:
        connector = aiohttp.UnixConnector(path=path)
        async with aiohttp.ClientSession(connector=connector) as http:
            body = {"model": MODEL, "messages": HELLO}
            async with http.post("http://broker/v1/chat/completions", json=body) as reply:
                return await reply.json()

    assert asyncio.run(ask())["choices"][0]["message"]["content"] == "hello #0"


@pytest.mark.skipif(shutil.which("curl") is None, reason="needs curl")
def test_curl_works_too(path: str) -> None:
    body = json.dumps({"model": MODEL, "messages": HELLO})
    url = "http://broker/v1/chat/completions"
    command = ["curl", "-s", "--unix-socket", path, "-H", "Content-Type: application/json"]
    done = subprocess.run([*command, "-d", body, url], capture_output=True, check=True)
    assert json.loads(done.stdout)["choices"][0]["message"]["content"] == "hello #0"


class UnixConnection(HTTPConnection):
    """The standard library's client over a UNIX socket."""

    def __init__(self, path: str) -> None:
        super().__init__("broker")
        self._path = path

    def connect(self) -> None:
        self.sock = socket(AF_UNIX)
        self.sock.connect(self._path)


def test_one_connection_serves_many_requests(path: str) -> None:
    connection = UnixConnection(path)
    for number in range(3):
        body = json.dumps({"model": MODEL, "messages": HELLO})
        connection.request("POST", "/v1/chat/completions", body)
        reply = json.loads(connection.getresponse().read())
        assert reply["choices"][0]["message"]["content"] == f"hello #{number}"
    connection.close()


@pytest.mark.parametrize(
    ("method", "target", "body", "status", "says"),
    [
        ("GET", "/v2/nothing", None, 404, "is not offered"),
        ("POST", "/v1/completions", "{}", 404, "is not offered"),
        ("POST", "/v1/chat/completions", "{", 400, "not JSON"),
        ("POST", "/v1/chat/completions", "[" * 100_000, 400, "not JSON"),
        ("POST", "/v1/chat/completions", "[]", 400, "not a JSON object"),
        ("POST", "/v1/chat/completions", '{"model": "pinned-1"}', 400, "messages"),
        ("POST", "/v1/chat/completions", "x" * (1 << 20), 413, "it may have"),
    ],
)
def test_what_can_not_be_answered_is_refused_with_a_sentence(
    path: str, method: str, target: str, body: str | None, status: int, says: str
) -> None:
    connection = UnixConnection(path)
    connection.request(method, target, body)
    reply = connection.getresponse()
    assert (reply.status, reply.headers["x-should-retry"]) == (status, "false")
    assert says in json.loads(reply.read())["error"]["message"]
    connection.close()
