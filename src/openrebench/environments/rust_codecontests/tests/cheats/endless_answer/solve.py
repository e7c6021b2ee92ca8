"""An answer larger than anything should be."""


async def generate_solution(llm, problem):
    return "//" + "x" * (30 << 20)
