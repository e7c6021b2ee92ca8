"""Canary 7f0c1e0a-5b0e-4d0b-9c43-2f6f1f4f6a51

The language model that your scaffold may use, through the broker's socket.

The broker speaks OpenAI's protocol (`POST /v1/chat/completions`, `GET /v1/models`) over HTTP on
the UNIX socket `broker.sock`, so OpenAI's own client works too, wherever it is installed:

    http = httpx.AsyncClient(transport=httpx.AsyncHTTPTransport(uds="broker.sock"))
    openai.AsyncOpenAI(base_url="http://broker/v1", api_key="none", http_client=http)

This file needs the standard library only. Change it as you like.
"""

import asyncio
import json
from pathlib import Path

SOCKET = Path(__file__).resolve().parent / "broker.sock"
RETRIES = 5


class LLMError(Exception):
    """The broker said no; `status` is that of HTTP, and the text says why."""

    def __init__(self, status, message):
        super().__init__(f"{status}: {message}")
        self.status = status


class LLM:
    """The one model that is offered."""

    def __init__(self, socket=SOCKET):
        self.socket = str(socket)
        self.model = None

    async def complete(self, prompt, *, n=1, **settings):
        """Give n completions.

        Args:
            prompt: A text, or a list of messages with `role` and `content`.
            n: Completions wanted.
            settings: `temperature`, `max_tokens`, `stop`, `seed`.
        """
        if self.model is None:
            self.model = (await self.request("GET", "/v1/models"))["data"][0]["id"]
        messages = [{"role": "user", "content": prompt}] if isinstance(prompt, str) else prompt
        body = {"model": self.model, "messages": messages, "n": n, **settings}
        answer = await self.request("POST", "/v1/chat/completions", body)
        return [choice["message"]["content"] for choice in answer["choices"]]

    async def usage(self):
        """Tell what is used, and the caps."""
        return await self.request("GET", "/v1/usage")

    async def request(self, method, path, body=None):
        """Send one request and give the answer, parsed."""
        reader, writer = await self.connect()
        try:
            content = b"" if body is None else json.dumps(body).encode()
            head = f"{method} {path} HTTP/1.1\r\nHost: broker\r\nConnection: close\r\n"
            writer.write(f"{head}Content-Length: {len(content)}\r\n\r\n".encode() + content)
            await writer.drain()
            answer = await reader.read()
        finally:
            writer.close()
        top, _, text = answer.partition(b"\r\n\r\n")
        status, parsed = int(top.split()[1]), json.loads(text)
        if status != 200:
            raise LLMError(status, parsed["error"]["message"])
        return parsed

    async def connect(self):
        """Connect, again if too many others do."""
        for turn in range(RETRIES):
            try:
                return await asyncio.open_unix_connection(self.socket)
            except BlockingIOError:
                await asyncio.sleep(0.05 * 2**turn)
        return await asyncio.open_unix_connection(self.socket)
