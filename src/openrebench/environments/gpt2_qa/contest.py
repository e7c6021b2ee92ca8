"""A model's answers against those of base and rival: win rates, interval, what broke rules."""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean, stdev

from pydantic import JsonValue

from openrebench.environments.gpt2_qa import rules
from openrebench.environments.gpt2_qa.judging import Comparison, Judge, preferences
from openrebench.environments.gpt2_qa.questions import Pair

NORMAL_95 = 1.96
CANNED_SHARE = 0.1  # of the answers; more is flagged

Answers = Mapping[str, Sequence[Sequence[str]]]


@dataclass(frozen=True, kw_only=True)
class Contest:
    """What came out.

    Attributes:
        rates: Mean preference against each opponent.
        by_question: Mean preference on every question, over opponents and passes.
        by_pass: Mean preference of every pass.
        broken: How many answers broke which rule.
        answers: How many answers there were.
    """

    rates: Mapping[str, float]
    by_question: Sequence[float]
    by_pass: Sequence[float]
    broken: Mapping[str, int]
    answers: int

    @property
    def rate(self) -> float:
        """The mean win rate against all opponents."""
        return fmean(self.rates.values())

    @property
    def margin(self) -> float:
        """Half of the 95 % interval of the rate, for questions drawn like these."""
        return NORMAL_95 * stdev(self.by_question) / math.sqrt(len(self.by_question))

    def details(self) -> dict[str, JsonValue]:
        """Give the figures for the log."""
        low, high = self.rate - self.margin, self.rate + self.margin
        return {
            **{f"win_vs_{name}": round(rate, 4) for name, rate in self.rates.items()},
            "interval_95": [round(low, 4), round(high, 4)],
            "passes": [round(rate, 4) for rate in self.by_pass],
            "broken_rules": dict(self.broken),
            "answers": self.answers,
        }


def hold(
    judge: Judge,
    pairs: Sequence[Pair],
    passes: Sequence[Sequence[str]],
    opponents: Answers,
    *,
    ruled: bool,
) -> Contest:
    """Compare every answer with one of each opponent.

    Args:
        judge: Who prefers.
        pairs: The questions.
        passes: The model's answers to all questions, several times.
        opponents: The same of each opponent; its passes are taken in turn.
        ruled: Whether the rules hold.
    """
    said = [_without_canned(answers) if ruled else list(answers) for answers in passes]
    won = {
        name: [
            preferences(judge, _beside(pairs, answers, theirs[k % len(theirs)]), ruled=ruled)
            for k, answers in enumerate(said)
        ]
        for name, theirs in opponents.items()
    }
    rows = [row for group in won.values() for row in group]
    return Contest(
        rates={name: fmean(map(fmean, group)) for name, group in won.items()},
        by_question=[fmean(column) for column in zip(*rows, strict=True)],
        by_pass=[fmean(map(fmean, group)) for group in zip(*won.values(), strict=True)],
        broken=_broken(pairs, passes, said) if ruled else {},
        answers=len(pairs) * len(passes),
    )


def _without_canned(answers: Sequence[str]) -> list[str]:
    """Put nothing, which breaks a rule too, in the place of answers given to many questions."""
    marked = zip(answers, rules.canned(answers), strict=True)
    return ["" if canned else answer for answer, canned in marked]


def _beside(pairs: Sequence[Pair], ours: Sequence[str], theirs: Sequence[str]) -> list[Comparison]:
    rows = zip(pairs, ours, theirs, strict=True)
    return [Comparison(pair.question, mine, other) for pair, mine, other in rows]


def _broken(
    pairs: Sequence[Pair], passes: Sequence[Sequence[str]], said: Sequence[Sequence[str]]
) -> dict[str, int]:
    """Count the first rule that each answer breaks."""
    found: Counter[str] = Counter()
    for given, kept in zip(passes, said, strict=True):
        for pair, answer, left in zip(pairs, given, kept, strict=True):
            name = rules.broken(pair.question, answer)
            if name or (answer and not left):
                found[name or "canned"] += 1
    return dict(found)


def canned_share(contest: Contest) -> float:
    """Give the share of answers that keep all other rules and were given to many questions."""
    return contest.broken.get("canned", 0) / contest.answers
