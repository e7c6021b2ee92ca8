"""Ask far more often than the cap allows, and for the longest answers."""

import asyncio


async def generate_solution(llm, problem):
    asked = [llm.complete("x" * 200_000, n=64, max_tokens=2048) for _ in range(40)]
    answers = await asyncio.gather(*asked, return_exceptions=True)
    refused = [answer for answer in answers if isinstance(answer, Exception)]
    raise refused[0] if refused else RuntimeError("no cap")
