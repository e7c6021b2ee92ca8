"""The scaffold: turn a problem into a Rust program, with the language model's help.

`generate_solution` is called once for each problem, for many problems at a time.
"""

from rust import extract

PROMPT = "Write a Rust program that solves this problem.\n\n{description}"


async def generate_solution(llm, problem):
    """Give the source of a Rust program.

    Args:
        llm: See llm.py.
        problem: `name`, `description`, `public_tests` (`input` and `output`, two lists),
            `cpu_limit_s`.
    """
    completions = await llm.complete(PROMPT.format(description=problem["description"]))
    return extract(completions[0])
