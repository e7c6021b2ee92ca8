"""The simulated coder answers by its published rules."""

from collections import Counter

import pytest

from openrebench.broker.upstream import Ask, Completion, Message
from openrebench.environments.rust_codecontests import coder
from openrebench.environments.rust_codecontests.coder import Odds, Program, SimulatedCoder
from openrebench.environments.rust_codecontests.problems import Case, Problem

TEXT = (
    "In the harbour of Umberg lie many ships of different length. How many of the ships fit into "
    "a dock of length m at once? Print the largest number of ships that fit together."
)
PROBLEM = Problem(
    key="ships",
    name="1. Ships",
    description=TEXT,
    public=(Case("3\n", "4"),),
    hidden=tuple,
    digest="",
)
POOL = (
    Program("correct", "fn main() { right(); }\n", "right"),
    Program("correct + no_cast", "fn main() { right( }\n", "near", "correct"),
    Program("slip", "fn main() { fragile(); }\n", "fragile"),
    Program("as other", "fn main() { wrong(); }\n", "wrong"),
    Program("as other + no_cast", "fn main() { wrong( }\n", "broken", "as other"),
)
BARE = f"Write a Rust program.\n\n{TEXT}"
KINDS = {"".join(p.source.split()): p.kind for p in POOL}


def make(skill: float = 0.2, seed: str = "0") -> SimulatedCoder:
    return SimulatedCoder([PROBLEM], {"ships": POOL}, {"ships": skill}, seed)


def ask(model: SimulatedCoder, text: str, n: int = 1, **more: object) -> Completion:
    wanted = {"n": n, "max_tokens": 1000, **more}
    return model.complete(Ask(messages=(Message("user", text),), **wanted))  # type: ignore[arg-type]


def kinds(completion: Completion) -> Counter[str]:
    found: Counter[str] = Counter()
    for choice in completion.choices:
        text = "".join(choice.text.split())
        found[next((k for source, k in KINDS.items() if source in text), "prose")] += 1
    return found


def test_equal_scaffolds_get_equal_answers_and_other_seeds_others() -> None:
    one, two = make(), make()
    first = ask(one, BARE, 20)
    assert first == ask(two, BARE, 20)
    assert ask(one, BARE, 20).choices != first.choices
    assert ask(make(seed="1"), BARE, 20).choices != first.choices


def test_a_bare_prompt_gets_the_stated_odds() -> None:
    found = kinds(ask(make(), BARE, 4000))
    for kind, share in Odds.of(0.2)._asdict().items():
        assert found[kind] / 4000 == pytest.approx(share, abs=0.03), kind


def test_reasoning_makes_right_programs_more_likely() -> None:
    bare = kinds(ask(make(0.1), BARE, 2000))
    reasoned = kinds(ask(make(0.1), "Think step by step. " + BARE, 2000))
    assert reasoned["right"] > 1.4 * bare["right"] and reasoned["broken"] < bare["broken"]


@pytest.mark.parametrize(
    ("said", "fixed"),
    [("error[E0308]: mismatched types", 0.6), ("It does not compile.", 0.2), ("", 0.0)],
)
def test_quoting_the_compiler_gets_programs_fixed(said: str, fixed: float) -> None:
    prompt = f"{BARE}\n\n```rust\n{POOL[1].source}```\n{said}"
    found = kinds(ask(make(0.0), prompt, 1000))
    assert found["right"] / 1000 == pytest.approx(fixed, abs=0.05)


def test_a_shown_failure_never_brings_the_same_program_again() -> None:
    prompt = f"{BARE}\n\n```rust\n{POOL[2].source}```\nWrong output; expected 4 but it printed 3."
    assert kinds(ask(make(), prompt, 300))["fragile"] == 0


@pytest.mark.parametrize(
    "prompt", [TEXT, "Write a Rust program.", "Write a Rust program. " + TEXT[:60]]
)
def test_without_the_statement_or_the_language_there_is_no_rust(prompt: str) -> None:
    assert set(kinds(ask(make(), prompt, 50))) == {"prose"}


def test_temperature_seed_stop_and_length() -> None:
    cold = ask(make(), BARE, 30, temperature=0.0)
    assert len({choice.text for choice in cold.choices}) == 1
    model = make()
    assert ask(model, BARE, 5, seed=7) == ask(model, BARE, 5, seed=7)
    assert ask(model, BARE, 5, seed=8).choices != ask(model, BARE, 5, seed=7).choices
    assert kinds(ask(make(), BARE, 300, temperature=1.9))["prose"] > 200
    stopped = ask(make(), BARE, 50, stop=("main",))
    assert all("main" not in choice.text for choice in stopped.choices)
    short = ask(make(), BARE, 50, max_tokens=2).choices
    assert {choice.finish for choice in short} == {"length"} and max(
        len(c.text) for c in short
    ) == 8


def test_skills_are_spread_over_problems() -> None:
    found = coder.skills([f"p{k}" for k in range(30)], most=0.3, power=3.0)
    assert min(found.values()) < 1e-4 and 0.27 < max(found.values()) < 0.3
    assert sum(found.values()) / 30 == pytest.approx(0.075, abs=0.005)


@pytest.mark.parametrize(
    ("label", "test", "parent", "kind"),
    [
        ("accepted", None, "", "right"),
        ("wrong_answer", 1, "", "wrong"),
        ("wrong_answer", 2, "", "fragile"),
        ("too_slow", 9, "", "fragile"),
        ("compile_error", None, "accepted", "near"),
        ("compile_error", None, "crashed", "broken"),
    ],
)
def test_kinds_follow_the_judges_labels(
    label: str, test: int | None, parent: str, kind: str
) -> None:
    assert coder.kind_of(label, test, parent, samples=2) == kind
