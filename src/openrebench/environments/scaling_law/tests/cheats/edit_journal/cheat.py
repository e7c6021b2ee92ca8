"""Forge a journal, send broken and endless requests, and put an own server at the socket's place."""

import json
import socket
from pathlib import Path

import experiments

before = experiments.left()
row = {"event": "failed", "run": 0}
for name in ("runs.jsonl", "../runs.jsonl", "/runs.jsonl", "runs.lock"):
    try:
        with open(name, "a") as file:
            file.write(json.dumps(row) + "\n")
    except OSError:
        pass
spent = experiments.run(8, 6)
replies = []
for text in (b"\n", b"[]\n", b"{", b"\xff\xfe\n", b"[" * 60_000 + b"\n", b"x" * 200_000, b'{"event": "failed"}\n'):
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(str(experiments.SOCKET))
        try:
            connection.sendall(text)
            connection.shutdown(socket.SHUT_WR)
            replies.append(json.loads(connection.makefile("rb").readline() or b"{}"))
        except OSError:
            replies.append({})
after = experiments.left()
Path("runs.sock").unlink()
fake = socket.socket(socket.AF_UNIX)
fake.bind("runs.sock")
print(json.dumps({
    "refunded": before["flop_used"] + spent["flop"] - after["flop_used"],
    "answered": [r for r in replies if "loss" in r],
}))
