"""Runs in the score call's sandbox: asks the submission for a program for each problem.

    python drive.py check    imports the submission and looks for generate_solution
    python drive.py          solves the problems in problems.json, answers go to answers/

Standard library only. What the submission does to this process is its own loss: the answers are
judged elsewhere.
"""

import asyncio
import importlib
import inspect
import json
import os
import sys
from pathlib import Path
from typing import Any, NoReturn

HERE = Path(__file__).resolve().parent
NO_IMPORT, NO_FUNCTION = 3, 4
SPARE_S = 2.0
NOTE_CHARACTERS = 300


def main() -> NoReturn:
    """Check, or solve; then end at once, whatever the submission has left running."""
    sys.path.insert(0, str(HERE))
    solve = imported("solve")
    if not inspect.iscoroutinefunction(getattr(solve, "generate_solution", None)):
        say(NO_FUNCTION, "solve.py has no `async def generate_solution(llm, problem)`")
    llm = imported("llm")
    if not hasattr(llm, "LLM"):
        say(NO_FUNCTION, "llm.py has no class LLM")
    if sys.argv[1:] != ["check"]:
        asyncio.run(solve_all(solve.generate_solution, llm.LLM))
    say(0, "")


def imported(name: str) -> Any:  # noqa: ANN401
    """Import a module of the submission."""
    try:
        return importlib.import_module(name)
    except BaseException as error:  # noqa: BLE001 - whatever it raises is told
        say(NO_IMPORT, f"{name}.py: {type(error).__name__}: {error}")


def say(code: int, text: str) -> NoReturn:
    """End with a sentence."""
    sys.stdout.write(text[:NOTE_CHARACTERS])
    sys.stdout.flush()
    os._exit(code)


async def solve_all(generate: Any, llm_class: Any) -> None:  # noqa: ANN401
    """Solve all problems side by side until the time is up."""
    order = json.loads((HERE / "problems.json").read_text())
    gate = asyncio.Semaphore(order["parallel"])
    llm = llm_class()
    tasks = [
        asyncio.create_task(solve_one(generate, llm, problem, gate, number))
        for number, problem in enumerate(order["problems"])
    ]
    await asyncio.wait(tasks, timeout=order["timeout_s"] - SPARE_S)


async def solve_one(
    generate: Any,  # noqa: ANN401
    llm: Any,  # noqa: ANN401
    problem: dict[str, Any],
    gate: asyncio.Semaphore,
    number: int,
) -> None:
    """Solve one problem; the answer is written when it is complete."""
    async with gate:
        try:
            source = await generate(llm, problem)
        except Exception as error:  # noqa: BLE001 - one problem's failure is not another's
            write(f"{number:04d}.txt", f"{type(error).__name__}: {error}"[:NOTE_CHARACTERS])
            return
    if isinstance(source, str):
        write(f"{number:04d}.rs", source)
    else:
        write(f"{number:04d}.txt", f"generate_solution gave {type(source).__name__}, not str")


def write(name: str, text: str) -> None:
    """Write a file at once."""
    part = HERE / "answers" / f".{name}"
    part.write_bytes(text.encode("utf-8", "replace"))
    part.rename(HERE / "answers" / name)


if __name__ == "__main__":
    main()
