"""The three tools every solver gets, and the same for agents that are not language models."""

from typing import NamedTuple

from inspect_ai.tool import Tool, tool

from openrebench.core.duration import format_duration
from openrebench.core.result import Outcome
from openrebench.harness import compat, live
from openrebench.harness.feedback import describe_log


class Verdict(NamedTuple):
    """What a solver may know of a score.

    `raw` is None unless there is one and the environment shows scores. `anchor` is the hash of
    the entry in the score log.
    """

    text: str
    outcome: Outcome
    raw: float | None
    anchor: str


async def request_score() -> Verdict:
    """Score the workspace as it is now, as the tool does."""
    score = await compat.score_through_task()
    facts = score.metadata or {}
    visible = live.current().attempt.environment.card.score.visible
    return Verdict(
        text=score.explanation or "",
        outcome=Outcome(facts["outcome"]),
        raw=facts["raw"] if visible else None,
        anchor=facts["hash"],
    )


def time_left_s() -> float | None:
    """Working seconds left, or None without a budget."""
    return live.current().clock.left_s


@tool
def score() -> Tool:
    """Give the tool that scores the workspace."""

    async def execute() -> str:
        """Score the files in the workspace as they are now.

        Every call is logged. The score counts at the moment of the call.
        """
        return (await request_score()).text

    return execute


@tool
def score_log() -> Tool:
    """Give the tool that lists the scores so far."""

    async def execute() -> str:
        """List all score calls so far, with the working time when each was made."""
        attempt = live.current().attempt
        record, card = attempt.record, attempt.environment.card
        return describe_log(card, record.profile, record.device, attempt.log.entries)

    return execute


@tool
def time_left() -> Tool:
    """Give the tool that tells the time."""

    async def execute() -> str:
        """Tell how much working time is used and how much is left."""
        clock = live.current().clock
        used = f"{clock.used_s():.0f} s used"
        limit_s, left_s = clock.limit_s(), clock.left_s
        if limit_s is None or left_s is None:
            return f"{used}; there is no limit"
        return f"{used}, {left_s:.0f} s left of {format_duration(limit_s)}"

    return execute
