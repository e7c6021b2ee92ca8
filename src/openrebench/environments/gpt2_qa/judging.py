"""From a judge's verdicts to preferences; the scorer and the solver's tool share this.

A judge tells which of two answers is better. `preferences` asks it in both orders, after the rules.
"""

from collections.abc import Sequence
from typing import NamedTuple, Protocol

from openrebench.environments.gpt2_qa import rules


class Comparison(NamedTuple):
    """Two answers to one question."""

    question: str
    first: str
    second: str

    def turned(self) -> "Comparison":
        """Give the same comparison in the other order."""
        return Comparison(self.question, self.second, self.first)


class Judge(Protocol):
    """Who prefers."""

    def verdicts(self, comparisons: Sequence[Comparison]) -> list[float]:
        """Give 1 where the first answer is preferred, 0 where the second is, 0.5 for a tie."""


def preferences(
    judge: Judge, comparisons: Sequence[Comparison], *, ruled: bool = True
) -> list[float]:
    """Compare answers in both orders.

    Args:
        judge: Sees only pairs that the rules don't decide, each twice.
        comparisons: What to compare.
        ruled: Whether the rules hold.

    Returns:
        For each the mean of both orders: 1 where the first answer wins both, 0 where the second
        does, and 0.5 where the orders disagree.
    """
    decided = [_by_rules(c) if ruled else None for c in comparisons]
    open_ = [c for c, known in zip(comparisons, decided, strict=True) if known is None]
    asked = judge.verdicts([*open_, *(c.turned() for c in open_)]) if open_ else []
    there, back = asked[: len(open_)], asked[len(open_) :]
    judged = iter([(a + 1 - b) / 2 for a, b in zip(there, back, strict=True)])
    return [next(judged) if known is None else known for known in decided]


def _by_rules(comparison: Comparison) -> float | None:
    """Decide where at least one answer breaks a rule; None where both keep all."""
    first = rules.broken(comparison.question, comparison.first) is not None
    second = rules.broken(comparison.question, comparison.second) is not None
    return 0.5 + 0.5 * (second - first) if first or second else None
