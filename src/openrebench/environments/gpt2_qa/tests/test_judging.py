"""Rules, both orders, and the shipped judge's release gates."""

import random
from collections.abc import Sequence
from statistics import fmean

import pytest

pytest.importorskip("torch")

from openrebench.core.card import Profile
from openrebench.core.catalog import find_card
from openrebench.environments.gpt2_qa import contest, rules, sources
from openrebench.environments.gpt2_qa.judging import Comparison, preferences
from openrebench.environments.gpt2_qa.questions import Pair

QUESTION = "What is a puli, a kind of dog?"
GOOD = "a sheepdog with long cords of hair."
ANSWERS = {
    "a sheepdog with long cords\nof hair.": "lines",
    "a sheepdog.": "length",
    "": "length",
    " ".join(map(str, range(41))) + ".": "length",
    "a sheepdog with long cords of": "ending",
    "a long hair of a long hair of a long hair.": "repetition",
    "the puli is a kind of puli dog.": "echo",
    GOOD: None,
}


class First:
    """A judge that always names the first answer, as weak models do."""

    def __init__(self) -> None:
        self.seen: list[Comparison] = []

    def verdicts(self, comparisons: Sequence[Comparison]) -> list[float]:
        self.seen += comparisons
        return [1.0] * len(comparisons)


class Longer:
    """A judge that prefers the longer answer."""

    def verdicts(self, comparisons: Sequence[Comparison]) -> list[float]:
        return [float(len(c.first) > len(c.second)) for c in comparisons]


@pytest.mark.parametrize(("answer", "rule"), ANSWERS.items())
def test_rules(answer: str, rule: str | None) -> None:
    assert rules.broken(QUESTION, answer) == rule


def test_the_instructions_name_the_rules_figures() -> None:
    text = " ".join((find_card("gpt2_qa").folder / "instructions.md").read_text().split())
    for sentence in (
        f"one line, and {rules.SHORTEST} to {rules.LONGEST} words",
        f"At most {rules.REPEATED:.0%} of its pairs",
        f"At most {rules.ECHOED:.0%} of its words of {rules.LONGER} or more",
        f"Not more than {rules.SAME} questions",
    ):
        assert sentence in text


def test_position_bias_cancels_out() -> None:
    judge = First()
    comparison = Comparison(QUESTION, GOOD, "a small dog from Hungary.")
    assert preferences(judge, [comparison]) == [0.5]
    assert judge.seen == [comparison, comparison.turned()]


def test_rules_come_before_the_judge() -> None:
    long_but_bad = "a dog " * 9
    found = preferences(
        Longer(),
        [
            Comparison(QUESTION, GOOD, long_but_bad),
            Comparison(QUESTION, long_but_bad, GOOD),
            Comparison(QUESTION, long_but_bad, ""),
            Comparison(QUESTION, "a small dog from Hungary.", GOOD),
        ],
    )
    assert found == [1.0, 0.0, 0.5, 0.0]
    assert preferences(Longer(), [Comparison(QUESTION, GOOD, long_but_bad)], ruled=False) == [0.0]


def test_a_canned_answer_loses_and_is_counted() -> None:
    pairs = [Pair(f"What is number {i}?", "") for i in range(4)]
    said = ["a long and rather nice reply."] * 3 + ["something quite different here."]
    theirs = {"base": [["a fine thing."] * 4]}
    found = contest.hold(Longer(), pairs, [said], theirs, ruled=True)
    assert found.rate == 0.25 and found.broken == {"canned": 3}
    assert contest.canned_share(found) == 0.75
    assert contest.hold(Longer(), pairs, [said], theirs, ruled=False).rate == 1.0


def test_rates_and_interval() -> None:
    pairs = [Pair(f"What is number {i}?", "") for i in range(100)]
    ours = [f"a reply about {'x' * (i % 2 * 30)} number {i} here." for i in range(100)]
    theirs = {name: [["a middling reply of quite some words."] * 100] for name in ("base", "rival")}
    found = contest.hold(Longer(), pairs, [ours, ours], theirs, ruled=True)
    assert found.rate == 0.5 and found.by_pass == [0.5, 0.5]
    assert found.margin == pytest.approx(1.96 * 0.5 / 10, rel=0.01)
    assert found.details()["interval_95"] == [
        pytest.approx(0.4015, abs=1e-3),
        pytest.approx(0.5985, abs=1e-3),
    ]


def shares(profile: Profile, pairs: list[Pair], *, ruled: bool) -> dict[str, float]:
    """Give how often the judge prefers right answers to others of several kinds."""
    draw, names = random.Random(3), sources.texts(profile).vocabulary
    right = [pair.answer for pair in pairs]
    against = {
        "other": right[1:] + right[:1],
        "random": ["".join(draw.choices(names, k=20)).strip() for _ in pairs],
        "repeated": [" ".join([answer.split()[-1].strip(".")] * 12) + "." for answer in right],
        "phrase": [" ".join(["a small kind of"] * 5) + " thing." for _ in pairs],
        "echo": [pair.question for pair in pairs],
        "rival": sources.opponents(profile, "score")["rival"][0][: len(pairs)],
        "base": sources.opponents(profile, "score")["base"][0][: len(pairs)],
    }
    judge = sources.judge(profile)
    return {
        name: fmean(
            preferences(
                judge,
                [Comparison(p.question, p.answer, a) for p, a in zip(pairs, answers, strict=True)],
                ruled=ruled,
            )
        )
        for name, answers in against.items()
    }


def test_the_release_gates_of_the_judge() -> None:
    profile = find_card("gpt2_qa").profile("small")
    pairs = sources.pairs(profile, "score")[:120]
    found = shares(profile, pairs, ruled=True)
    assert found["other"] >= 0.85, found
    assert found["random"] == found["repeated"] == found["phrase"] == found["echo"] == 1.0, found
    assert found["rival"] >= 0.7, found
