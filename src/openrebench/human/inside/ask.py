#!/opt/env/bin/python -IS
"""The commands of a person's shell: each asks the trusted side over a socket and prints its answer.

Nothing is decided here. The program goes by the name it is called by: score, score_log, log,
note TEXT, time_left, pause REASON, submit, instructions.
"""

import json
import os
import socket
import sys
from typing import Any

HERE = os.path.dirname(os.path.realpath(__file__))
SOCKET = os.path.join(HERE, "desk.sock")
INTERRUPTED = 130


def main() -> int:
    """Ask, print the answer, and give the exit status."""
    name, words = os.path.basename(sys.argv[0]), sys.argv[1:]
    if name == "submit" and "--yes" not in words and not confirmed():
        print("not submitted")
        return 1
    if name == "score":
        print("scoring ...", flush=True)
    try:
        reply = ask({"do": name, "text": " ".join(words)})
    except OSError as error:
        print(f"{name}: the trusted side does not answer ({error.strerror})", file=sys.stderr)
        return 4
    if "error" in reply:
        print(f"{name}: {reply['error']}", file=sys.stderr)
        return 2
    print(reply["text"])
    return int(reply["code"])


def confirmed() -> bool:
    """Ask the person, showing how the attempt stands."""
    print(ask({"do": "standing", "text": ""}).get("text", ""))
    try:
        return input("submitting ends the attempt; type yes to submit: ").strip() == "yes"
    except EOFError:
        return False


def ask(request: dict[str, str]) -> dict[str, Any]:
    """Send one request and wait for its answer, however long it takes."""
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(SOCKET)
        connection.sendall(json.dumps(request).encode() + b"\n")
        line = connection.makefile("rb").readline()
    return json.loads(line) if line else {"error": "no answer; ask again"}


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)
