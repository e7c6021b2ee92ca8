"""What every agent is told of its limits: time, tokens and money left, the best score so far."""

import math
from typing import NamedTuple

from inspect_ai.util import sample_limits

from openrebench.core.duration import format_duration
from openrebench.core.scale import ScoreScale
from openrebench.harness import live
from openrebench.harness.feedback import describe
from openrebench.harness.scorer import counting

SOON, NOW = 0.75, 0.9  # of a limit
HIDDEN = "scores are not shown here"
URGENCY = {
    SOON: " Most of it is used: finish what you are at and score it.",
    NOW: " Almost all of it is used: score your best version now.",
}


class Use(NamedTuple):
    """How much of one limit is used."""

    what: str
    used: float
    limit: float | None

    @property
    def fraction(self) -> float:
        """Part of the limit that is used, 0 without a limit."""
        return self.used / self.limit if self.limit else 0.0

    def __str__(self) -> str:
        used, limit = self._shown(self.used), self._shown(self.limit or 0.0)
        if self.limit is None:
            return f"{self.what}: {used} used"
        left = self._shown(max(0.0, self.limit - self.used))
        return f"{self.what}: {left} left of {limit}"

    def _shown(self, amount: float) -> str:
        if self.what == "time":
            return format_duration(round(amount))
        return f"{amount:.2f} USD" if self.what == "money" else f"{amount:,.0f}"


def uses() -> list[Use]:
    """List the limits of the running sample with what is used of them, time first."""
    limits, clock = sample_limits(), live.current().clock
    found = [
        Use("time", clock.used_s(), clock.limit_s()),
        Use("tokens", limits.token.usage, limits.token.limit),
        Use("money", limits.cost.usage, limits.cost.limit),
    ]
    return [use for use in found if use.what != "money" or use.limit is not None]


def usage_line() -> str:
    """Say in one line what is left, and the best score so far."""
    return "; ".join([*map(str, uses()), best_so_far()]) + "."


def urgency() -> str:
    """Say what to do when most of a limit is used, nothing before."""
    return next((URGENCY[level] for level in (NOW, SOON) if used_fraction() >= level), "")


def used_fraction() -> float:
    """Part of the scarcest limit that is used."""
    return max(use.fraction for use in uses())


def best_so_far() -> str:
    """Name the score that counts so far, as far as the solver may know it."""
    attempt = live.current()
    card, record = attempt.attempt.environment.card, attempt.attempt.record
    calls = f"{len(attempt.attempt.log.entries)} score calls"
    if not card.score.visible:
        return f"{calls}, {HIDDEN}"
    entry, _ = counting(attempt)
    if entry is None:
        return f"{calls}, none valid"
    words = describe(card, record.profile, record.device, entry).partition("\n")[0]
    return f"{calls}, best {words.removeprefix('scored: ')}"


def seconds_left() -> float:
    """Working seconds left; infinite without a limit."""
    left_s = live.current().clock.left_s
    return math.inf if left_s is None else left_s


def score_scale() -> ScoreScale:
    """Give a scale that tells which of two raw scores is better; its anchors mean nothing."""
    return live.current().attempt.environment.card.score.scale(1.0, 2.0)
