"""Ask for training runs, from Python or the command line. What a run may cost is not decided here.

    python -m experiments run --n-embd 16 --max-iters 800 [--learning-rate 0.01] [--seed 1]
    python -m experiments left
    python -m experiments history
"""

import argparse
import json
import socket
from pathlib import Path

SOCKET = Path(__file__).resolve().with_name("runs.sock")


class Refused(Exception):
    """The trainer's reason why a run was not made."""


def run(n_embd: int, max_iters: int, learning_rate: float | None = None, seed: int = 0) -> dict:
    """Train a model and wait for its result.

    Runs asked for at the same time queue. Equal arguments give equal losses.

    Args:
        n_embd: Width, a multiple of 8.
        max_iters: Steps.
        learning_rate: Peak; the tuned one of the width if None.
        seed: Initial weights and order of the text.

    Returns:
        `loss` (nats, on validation text; None if it diverged), `flop` of this run, `flop_used`,
        `flop_left` and `runs_left`.
    """
    asked = {"n_embd": n_embd, "max_iters": max_iters, "seed": seed}
    return ask(asked if learning_rate is None else {**asked, "learning_rate": learning_rate})


def left() -> dict:
    """Tell what is used and left: `flop_used`, `flop_left`, `runs_left`."""
    reply = ask({})
    del reply["runs"]
    return reply


def history() -> list[dict]:
    """List all runs so far with their losses, also those whose result nobody waited for."""
    return ask({})["runs"]


def ask(request: dict) -> dict:
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(str(SOCKET))
        connection.sendall(json.dumps(request).encode() + b"\n")
        reply = json.loads(connection.makefile("rb").readline())
    if "error" in reply:
        raise Refused(reply["error"])
    return reply


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    commands = parser.add_subparsers(dest="command", required=True)
    one = commands.add_parser("run", help="train one model")
    one.add_argument("--n-embd", type=int, required=True)
    one.add_argument("--max-iters", type=int, required=True)
    one.add_argument("--learning-rate", type=float)
    one.add_argument("--seed", type=int, default=0)
    commands.add_parser("left", help="tell what is used and left")
    commands.add_parser("history", help="list all runs so far")
    options = vars(parser.parse_args())
    command = {"run": run, "left": left, "history": history}[options.pop("command")]
    try:
        print(json.dumps(command(**options)))
    except Refused as error:
        parser.exit(1, f"refused: {error}\n")


if __name__ == "__main__":
    main()
