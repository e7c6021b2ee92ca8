"""Try the scaffold on the dev problems: python evaluate.py [HOW MANY]

The dev problems are yours in full: statements in dev.json, all tests in dev_tests.json.
"""

import asyncio
import json
import sys
from pathlib import Path

import rust
from llm import LLM
from solve import generate_solution

HERE = Path(__file__).resolve().parent


async def verdict(llm, problem, tests):
    """Solve one problem and try the program on all of its tests."""
    try:
        source = await generate_solution(llm, problem)
    except Exception as error:
        return f"raised {type(error).__name__}: {error}"
    path, message = await rust.compile(source)
    if path is None:
        return "does not compile: " + message.strip().split("\n")[0]
    for number, (text, expected) in enumerate(zip(tests["input"], tests["output"])):
        output = await rust.run(path, text, problem["cpu_limit_s"] * 2)
        if not rust.same(output, expected):
            return f"fails on test {number}"
    return "solved"


async def main():
    """Print a verdict for each problem, and how many are solved."""
    problems = json.loads((HERE / "dev.json").read_text())
    problems = problems[: int(sys.argv[1])] if len(sys.argv) > 1 else problems
    tests = json.loads((HERE / "dev_tests.json").read_text())
    llm = LLM()
    found = await asyncio.gather(*(verdict(llm, p, tests[p["name"]]) for p in problems))
    for problem, said in zip(problems, found):
        print(f"{problem['name']:32} {said}")
    print(f"{found.count('solved')} of {len(problems)} solved; used: {await llm.usage()}")


if __name__ == "__main__":
    asyncio.run(main())
