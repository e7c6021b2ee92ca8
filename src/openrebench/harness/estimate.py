"""What a plan can cost at most: time, tokens, money. Read off the limits, nothing is run."""

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple, TypeVar

from openrebench.harness.plan import NO_MODEL, Cell, Plan
from openrebench.harness.prices import Prices

Number = TypeVar("Number", int, float)


class Most(NamedTuple):
    """The most that one row of a plan can use; None where no limit bounds it.

    `why_not` says why `cost_usd` is None.
    """

    environment: str
    agent: str
    model: str
    attempts: int
    working_s: float
    wall_s: float
    tokens: int | None
    cost_usd: float | None
    why_not: str


def estimate(plan: Plan, prices: Prices, cells: Sequence[Cell]) -> list[Most]:
    """Give one row for each environment, agent and model.

    Args:
        plan: The plan.
        prices: What models cost.
        cells: Those of its attempts that are to be run.
    """
    rows = Counter((cell.environment, cell.agent, cell.model) for cell in cells)
    return [_row(plan, prices, row, count) for row, count in rows.items()]


def _row(plan: Plan, prices: Prices, row: tuple[str, str, str], count: int) -> Most:
    environment, agent, model = row
    tokens = 0 if model == NO_MODEL else plan.fuses.max_tokens
    cost_usd, why_not = _cost(plan, prices, model)
    return Most(
        environment=environment,
        agent=agent,
        model=model,
        attempts=count,
        working_s=count * plan.time_limit_s,
        wall_s=count * plan.fuses.wall_s(plan.budget),
        tokens=None if tokens is None else count * tokens,
        cost_usd=None if cost_usd is None else count * cost_usd,
        why_not=why_not,
    )


def _cost(plan: Plan, prices: Prices, model: str) -> tuple[float | None, str]:
    """Give the most that one attempt can cost, or None and why that is not known."""
    if model == NO_MODEL:
        return 0.0, ""
    price, fuses = prices.find(model), plan.fuses
    if price is None:
        return None, f"the price of {model} is unknown; give it with --price"
    by_tokens = None if fuses.max_tokens is None else price.most_for(fuses.max_tokens)
    known = [most for most in (by_tokens, fuses.max_cost_usd) if most is not None]
    return (min(known), "") if known else (None, "set --max-cost or --max-tokens to bound it")


def total(rows: list[Most]) -> Most:
    """Sum up all rows; what is not bounded in one row is not in the sum."""
    return Most(
        environment="all",
        agent="",
        model="",
        attempts=sum(row.attempts for row in rows),
        working_s=sum(row.working_s for row in rows),
        wall_s=sum(row.wall_s for row in rows),
        tokens=_sum([row.tokens for row in rows]),
        cost_usd=_sum([row.cost_usd for row in rows]),
        why_not="",
    )


def _sum(values: Sequence[Number | None]) -> Number | None:
    known = [value for value in values if value is not None]
    return sum(known) if len(known) == len(values) else None
