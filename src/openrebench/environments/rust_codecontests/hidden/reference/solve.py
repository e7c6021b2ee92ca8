"""Reference scaffold: samples, public tests, repair, vote.

Canary 7f0c1e0a-5b0e-4d0b-9c43-2f6f1f4f6a51
"""

import asyncio
import random
import re
from collections import Counter

import rust

SAMPLES = 12
FEATURES = {"filter", "reason", "repair", "vote"}  # benchmarks/rust_scaffolds.py takes some away
REPAIRS, PROBES, SETTINGS = 4, 6, {"temperature": 1.0, "max_tokens": 1500}

BARE = "Write a Rust program that solves this problem.\n\n{description}"
REASONED = (
    "Solve this programming problem in Rust (edition 2018, standard library only). First think step by "
    "step about the idea, its running time and overflow; then give the whole program in one ```rust block. "
    "It reads standard input and prints exactly what is asked for.\n\n{description}"
)
REPAIR = "{prompt}\n\nThis program does not compile:\n\n```rust\n{source}```\n\nThe compiler says:\n\n{message}\n\nGive the whole corrected program."
RETRY = (
    "{prompt}\n\nThis program gives a wrong answer:\n\n```rust\n{source}```\n\nInput:\n{text}\n"
    "Its output:\n{output}\nExpected output:\n{expected}\n\nGive the whole corrected program."
)


async def generate_solution(llm, problem):
    prompt = (REASONED if "reason" in FEATURES else BARE).format(**problem)
    texts = await llm.complete(prompt, n=SAMPLES, **SETTINGS)
    counts = Counter(rust.extract(text) for text in texts if "fn main" in text)
    if "filter" not in FEATURES:
        return next(iter(counts), "")
    tried = await attempts(problem, counts)
    if "repair" in FEATURES:
        more = await repaired(llm, problem, prompt, tried)
        fresh = Counter({s: c for s, c in more.items() if s not in counts})
        counts += more
        tried |= await attempts(problem, fresh)
    good = [source for source, (path, state, _) in tried.items() if state == "good"]
    if not good:
        return next(iter(counts), "")
    if "vote" not in FEATURES:
        return good[0]
    return await elected(problem, {s: (tried[s][0], counts[s]) for s in good})


async def attempts(problem, sources):
    """Try programs on the public tests: command, state and what to quote, for each."""
    commands, messages = await rust.build_all(sources)
    results = await asyncio.gather(
        *(attempt(problem, commands.get(s), messages.get(s, "")) for s in sources)
    )
    return dict(zip(sources, results))


async def attempt(problem, command, message):
    if command is None:
        return None, "broken", message[:1500]
    tests = problem["public_tests"]
    for text, expected in zip(tests["input"], tests["output"]):
        output = await rust.run(command, text)
        if not rust.same(output, expected):
            return command, "wrong", {"text": text, "expected": expected, "output": output}
    return command, "good", None


async def repaired(llm, problem, prompt, tried):
    """Quote what the compiler and the public tests say, and ask again."""
    broken = [s for s, (_, state, _) in tried.items() if state == "broken"]
    wrong = [s for s, (_, state, _) in tried.items() if state == "wrong"]
    asked = [
        REPAIR.format(prompt=prompt, source=s, message=tried[s][2]) for s in broken[:REPAIRS]
    ] + [RETRY.format(prompt=prompt, source=s, **tried[s][2]) for s in wrong[:2]]
    answers = await asyncio.gather(*(llm.complete(text, n=2, **SETTINGS) for text in asked))
    return Counter(rust.extract(t) for texts in answers for t in texts if "fn main" in t)


async def elected(problem, candidates):
    """Choose among programs that pass: those that agree on changed inputs vote together."""
    rng = random.Random("".join(problem["public_tests"]["input"]))
    probes = [changed(rng.choice(problem["public_tests"]["input"]), rng) for _ in range(PROBES)]
    commands = [command for command, _ in candidates.values()]
    runs = [rust.run(command, text) for command in commands for text in probes]
    outputs = await asyncio.gather(*runs)
    groups = {}
    for k, (source, (_, count)) in enumerate(candidates.items()):
        said = tuple(outputs[k * PROBES : (k + 1) * PROBES])
        groups.setdefault(said, []).append((count, source))
    best = max(groups.values(), key=lambda group: (sum(count for count, _ in group), max(group)))
    return max(best)[1]


def changed(text, rng):
    """Change one or two numbers of an input, not those of the first line, or swap letters."""
    first, _, rest = text.partition("\n")
    words = re.split(r"(\s+)", rest)
    places = [k for k, word in enumerate(words) if word.strip()]
    for k in rng.sample(places, min(len(places), rng.randint(1, 2))):
        if re.fullmatch(r"-?\d+", words[k]):
            words[k] = str(max(0, int(words[k]) + rng.choice([-1, 1, 2, 5])))
        else:
            letters = list(words[k])
            rng.shuffle(letters)
            words[k] = "".join(letters)
    return first + "\n" + "".join(words)
