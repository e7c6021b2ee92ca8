"""The simulated coder: stands in for a weak language model, and is called simulated wherever shown.

It holds, for every problem, a pool of real Rust programs that were labelled by compiling and
running them. A request is answered by drawing from the pool, by a hash of the problem, of what
the prompt asks for, and of how often that was asked before: equal scaffolds get equal answers.
What a prompt does to the odds (all numbers are in `Odds` and below):

- Less than 60 % of the statement in the prompt: prose without a program.
- No mention of Rust: a Python program.
- Asked to reason before the program: right programs 1.8 times as likely, broken ones less.
- A program of the pool that does not compile, with the compiler's error: fixed in 60 % of the
  cases; with a bare "it does not compile" in 20 %; else it comes back unchanged or is replaced.
- A program of the pool that fails, with the expected output of the failed test: right programs
  1.5 times as likely, and the same program never again.
- Temperature t below 1: in a share 1 - t of the draws the first draw for this prompt comes again.
  Above 1: a share t - 1 is prose. `seed` fixes the draw. `stop` and `max_tokens` cut the text.

It measures how a scaffold samples, filters, repairs and chooses. It does not measure prompting.
"""

import hashlib
import re
import threading
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import NamedTuple, final

from openrebench.broker.service import counted
from openrebench.broker.upstream import CHARACTERS_PER_TOKEN, Ask, Choice, Completion
from openrebench.environments.rust_codecontests.problems import Problem

NAME = "simulated-coder"
ENOUGH_STATEMENT = 0.6
FIXED_WITH_ERROR, FIXED_WITHOUT, UNCHANGED = 0.6, 0.2, 0.2
REASONED, REASONED_BROKEN = 1.8, 0.6
SHOWN_FAILURE = 1.5
UNFENCED = 0.1
COMPILES_NOT = re.compile(r"error(\[E\d+\])?:|aborting due to|warning: unused")
SAID_NOT = re.compile(
    r"(does|did|do)(n't| not) compile|fails to compile|compil\w* (error|fail)", re.I
)
FAILED = re.compile(r"expected|instead of|wrong (answer|output)|should (be|print|have)", re.I)
REASONING = re.compile(
    r"step[- ]by[- ]step|reason|think|explain|plan\b|analy[sz]e|outline|idea first", re.I
)
PROSE = (
    "This looks like a problem where one keeps track of what has been seen so far. First read the "
    "input, then go through it once, and print the result in the end.\n"
)
STEPS = (
    "Let me think about this step by step.\n\n1. Read the input as the statement describes it.\n"
    "2. Find what has to be computed, and how large n can be: trying everything would take too "
    "long.\n3. Take care of the smallest inputs, and of numbers that don't fit into 32 bits.\n\n"
    "Here is the program:\n\n"
)
PYTHON = "```python\nimport sys\n\ndata = sys.stdin.read().split()\nprint(len(data))\n```\n"


class Program(NamedTuple):
    """A program of a pool.

    `kind`: `right`, `fragile` (passes the samples only), `wrong` (fails a sample), `near` (would
    be right if it compiled), `broken` (would not even then). `parent`: the program that it would
    be if it compiled.
    """

    name: str
    source: str
    kind: str
    parent: str = ""


@final
class Odds(NamedTuple):
    """How likely each kind of program is; what is left to 1 is prose."""

    right: float
    near: float
    fragile: float
    wrong: float
    broken: float

    @classmethod
    def of(cls, skill: float) -> "Odds":
        """Give the odds of a bare prompt for a problem.

        Args:
            skill: Chance of a right program, 0 to 0.3.
        """
        rest = 1 - 2 * skill
        return cls(skill, skill, 0.16 * rest, 0.45 * rest, 0.34 * rest)

    def times(self, right: float, broken: float = 1.0) -> "Odds":
        """Make right and nearly right programs more likely, and broken ones less."""
        raised = self._replace(
            right=self.right * right, near=self.near * right, broken=self.broken * broken
        )
        total = max(1.0, sum(raised))
        return Odds(*(share / total for share in raised))


class Asked(NamedTuple):
    """What a prompt is found to ask for; `quoted` is the pool's program that it shows."""

    problem: str
    rust: bool
    reasoned: bool
    quoted: Program | None
    error: str  # what is said of the quoted program: "", "said", "shown", "failed"

    @property
    def label(self) -> str:
        """Name all that the draw depends on."""
        shown = f"{self.quoted.name}|{self.error}" if self.quoted else ""
        return f"{self.problem}|{self.rust}|{self.reasoned}|{shown}"


@final
class SimulatedCoder:
    """An upstream that draws from pools.

    Args:
        problems: As the solver sees them.
        pools: Programs by the problems' keys.
        skills: Chance of a right program for a bare prompt, by the problems' keys.
        seed: Another one gives another coder of the same strength.
    """

    def __init__(
        self,
        problems: Sequence[Problem],
        pools: Mapping[str, Sequence[Program]],
        skills: Mapping[str, float],
        seed: str,
    ) -> None:
        self._sentences = {p.key: _sentences(p) for p in problems}
        self._samples = {p.key: [t.output.strip() for t in p.public] for p in problems}
        self._pools, self._skills, self._seed = pools, skills, seed
        self._squeezed = {
            key: [(_squeezed(c.source), c) for c in pools[key]] for key in self._sentences
        }
        self._calls: Counter[str] = Counter()
        self._lock = threading.Lock()

    def complete(self, ask: Ask) -> Completion:
        """Draw completions (see `Upstream`)."""
        asked = self._read(ask.text)
        texts = [self._text(asked, ask, number) for number in self._numbers(asked, ask)]
        choices = [_cut(text, ask) for text in texts]
        prompt, completion = counted(ask, [choice.text for choice in choices])
        return Completion(
            choices=choices,
            prompt_tokens=prompt,
            completion_tokens=completion,
            facts={"simulated": asked.label if asked else "no statement"},
        )

    def close(self) -> None:
        """Hold nothing."""

    def _numbers(self, asked: Asked | None, ask: Ask) -> list[str]:
        """Number the draws: on from the last one, or by the seed."""
        if ask.seed is not None:
            return [f"seed {ask.seed} {k}" for k in range(ask.n)]
        label = asked.label if asked else ""
        with self._lock:
            first = self._calls[label]
            self._calls[label] += ask.n
        return [str(first + k) for k in range(ask.n)]

    def _read(self, prompt: str) -> Asked | None:
        """Find out which problem a prompt is about and what it asks for."""
        words = _words(prompt)
        shares = {
            key: sum(len(s) for s in sentences if s in words) / sum(map(len, sentences))
            for key, sentences in self._sentences.items()
        }
        key = max(shares, key=lambda k: shares[k], default="")
        if not key or shares[key] < ENOUGH_STATEMENT:
            return None
        quoted = self._quoted(key, prompt)
        return Asked(
            problem=key,
            rust="rust" in words,
            reasoned=REASONING.search(prompt) is not None,
            quoted=quoted,
            error=self._said(key, prompt, quoted) if quoted else "",
        )

    def _quoted(self, key: str, prompt: str) -> Program | None:
        """Find the pool's program that a prompt shows last."""
        squeezed = _squeezed(prompt)
        places = [(squeezed.rfind(source), c) for source, c in self._squeezed[key]]
        at, found = max(places, key=lambda place: place[0])
        return found if at >= 0 else None

    def _said(self, key: str, prompt: str, quoted: Program) -> str:
        """Tell what a prompt says of the program that it shows."""
        if quoted.parent:
            if COMPILES_NOT.search(prompt):
                return "shown"
            return "said" if SAID_NOT.search(prompt) else ""
        shown = FAILED.search(prompt) and any(s in prompt for s in self._samples[key])
        return "failed" if shown else ""

    def _text(self, asked: Asked | None, ask: Ask, number: str) -> str:
        """Draw one completion."""
        label = asked.label if asked else ""
        heat = 1.0 if ask.temperature is None else ask.temperature
        u = self._uniform(label, number, "heat")
        if u >= heat:
            number = "seed first" if ask.seed is None else number
        if asked is None or u < heat - 1:
            return PROSE
        if not asked.rust:
            return PYTHON
        program = self._program(asked, number)
        if program is None:
            return PROSE
        fenced = self._uniform(asked.label, number, "fence") >= UNFENCED or asked.reasoned
        text = f"```rust\n{program.source}```\n" if fenced else program.source
        return (STEPS if asked.reasoned else "") + text

    def _program(self, asked: Asked, number: str) -> Program | None:
        """Draw a program, or none for prose."""
        pool = self._pools[asked.problem]
        odds = Odds.of(self._skills[asked.problem])
        if asked.reasoned:
            odds = odds.times(REASONED, REASONED_BROKEN)
        if asked.quoted and asked.quoted.parent:
            fixed = {"shown": FIXED_WITH_ERROR, "said": FIXED_WITHOUT}.get(asked.error, 0.0)
            u = self._uniform(asked.label, number, "fix")
            if u < fixed:
                return next(c for c in pool if c.name == asked.quoted.parent)
            if u < fixed + UNCHANGED:
                return asked.quoted
        elif asked.quoted and asked.error == "failed":
            odds = odds.times(SHOWN_FAILURE)
            pool = [c for c in pool if c.name != asked.quoted.name]
        return self._drawn(pool, odds, asked.label, number)

    def _drawn(
        self, pool: Sequence[Program], odds: Odds, label: str, number: str
    ) -> Program | None:
        """Draw the kind, then one program of it; a kind that the pool lacks becomes `wrong`."""
        u = self._uniform(label, number, "kind")
        for kind, share in odds._asdict().items():
            if u < share:
                some = [c for c in pool if c.kind == kind] or [c for c in pool if c.kind == "wrong"]
                return (
                    some[int(self._uniform(label, number, "which") * len(some))] if some else None
                )
            u -= share
        return None

    def _uniform(self, *labels: str) -> float:
        """Give a number from 0 to 1 that depends on the seed and on the labels only."""
        digest = hashlib.sha256("\0".join((self._seed, *labels)).encode()).digest()
        return int.from_bytes(digest[:7], "big") / (1 << 56)


def skills(keys: Sequence[str], *, most: float, power: float) -> dict[str, float]:
    """Spread the chance of a right program over problems, from nearly none to `most`.

    Args:
        keys: Problems; a hash of the key decides which are easy.
        most: Chance at the easiest problem.
        power: Larger ones leave fewer easy problems.
    """
    order = sorted(keys, key=lambda key: hashlib.sha256(f"skill {key}".encode()).digest())
    return {key: most * ((k + 0.5) / len(order)) ** power for k, key in enumerate(order)}


def kind_of(label: str, test: int | None, parent_label: str, samples: int) -> str:
    """Name the kind of a program from what the judge said of it and of its parent."""
    if label == "compile_error":
        return "near" if parent_label == "accepted" else "broken"
    if label == "accepted":
        return "right"
    return "fragile" if test is not None and test >= samples else "wrong"


def _cut(text: str, ask: Ask) -> Choice:
    """End a text at a stop, or where it is too long."""
    ends = [at for stop in ask.stop if (at := text.find(stop)) >= 0]
    text = text[: min(ends)] if ends else text
    most = ask.max_tokens * CHARACTERS_PER_TOKEN
    return Choice(text) if len(text) <= most else Choice(text[:most], "length")


def _sentences(problem: Problem) -> list[str]:
    """Split a statement; what is compared is words only."""
    parts = re.split(r"[.?!:;]\s|\n\n", problem.description)
    return [words for part in parts if len(words := _words(part)) > 20]


def _words(text: str) -> str:
    return " ".join(re.findall(r"[a-z0-9]+", text.lower()))


def _squeezed(text: str) -> str:
    return "".join(text.split())
