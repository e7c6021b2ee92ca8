"""The paper's three comparisons of humans and agents, beside what the attempts at hand support."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import polars as pl

from openrebench.analysis.bootstrap import interval
from openrebench.analysis.budgets import Estimates
from openrebench.analysis.curves import Curve, curve
from openrebench.analysis.lengths import SAME
from openrebench.analysis.options import HOUR_S

SOURCE = "Wijk et al. 2024, arXiv:2411.15114, abstract"


class Statement(NamedTuple):
    """What the paper says of a total budget."""

    budget_h: float
    says: str


PAPER = (
    Statement(2.0, "best agents about 4 times the human score"),
    Statement(8.0, "humans narrowly ahead of the best agents"),
    Statement(32.0, "humans about 2 times the score of the best agent"),
)

SCHEMA = pl.Schema(
    {
        "budget_h": pl.Float64,
        "paper": pl.String,
        "human": pl.Float64,
        "human_low": pl.Float64,
        "human_high": pl.Float64,
        "agent": pl.String,
        "agent_score": pl.Float64,
        "agent_low": pl.Float64,
        "agent_high": pl.Float64,
        "human_over_agent": pl.Float64,
        "ratio_low": pl.Float64,
        "ratio_high": pl.Float64,
        "these_attempts": pl.String,
    }
)


def paper_comparisons(human: Estimates | None, agents: Sequence[Estimates]) -> pl.DataFrame:
    """Set each statement beside the ratio of the human score to the best agent's.

    Where there is no human score of a budget the row says so, and gives no ratio.

    Args:
        human: Human attempts; None if there are none.
        agents: Agents at the same environments.
    """
    ours = curve(human) if human else None
    theirs = [(found.group.solver, curve(found)) for found in agents]
    return pl.DataFrame([_row(said, ours, theirs) for said in PAPER], schema=SCHEMA)


def _row(
    said: Statement, human: Curve | None, agents: Sequence[tuple[str, Curve]]
) -> dict[str, object]:
    budget_s = said.budget_h * HOUR_S
    i = None if human is None else _at(human, budget_s)
    found = [(name, drawn, j) for name, drawn in agents if (j := _at(drawn, budget_s)) is not None]
    row: dict[str, object] = {"budget_h": said.budget_h, "paper": said.says}
    best = max(found, key=lambda item: item[1].values[item[2]], default=None)
    if best is not None:
        row |= {"agent": best[0], **_bounds("agent", best[1], best[2], "agent_score")}
    if human is not None and i is not None:
        row |= _bounds("human", human, i, "human")
    if human is None or i is None:
        return row | {"these_attempts": _no_human(said.budget_h)}
    if best is None:
        return row | {"these_attempts": f"no agent has attempts for {said.budget_h:g} h"}
    return row | _ratio(human, i, best[1], best[2])


def _no_human(budget_h: float) -> str:
    return (
        f"can't support it: no human score at {budget_h:g} h (the public rows hold final scores "
        "of 8 h attempts; their score logs were never released)"
    )


def _ratio(human: Curve, i: int, agent: Curve, j: int) -> dict[str, object]:
    ratio = float(human.values[i] / agent.values[j]) if agent.values[j] > 0 else np.inf
    drawn = agent.resampled[:, j]
    resampled = np.divide(
        human.resampled[:, i], drawn, out=np.full(len(drawn), np.inf), where=drawn > 0
    )
    low, high = (float(bound[0]) for bound in interval(resampled[:, None]))
    ahead = "humans ahead" if low > 1 else "the agent ahead" if high < 1 else "no clear difference"
    return {
        "human_over_agent": ratio,
        "ratio_low": low,
        "ratio_high": high,
        "these_attempts": f"{ahead}: humans {ratio:.2f} times the best agent "
        f"(95 % interval {low:.2f} to {high:.2f})",
    }


def _at(drawn: Curve, budget_s: float) -> int | None:
    near = np.flatnonzero(np.abs(drawn.budgets_s - budget_s) <= SAME * budget_s)
    return int(near[0]) if len(near) else None


def _bounds(prefix: str, drawn: Curve, i: int, name: str) -> dict[str, object]:
    low, high = interval(drawn.resampled[:, [i]])
    return {
        name: float(drawn.values[i]),
        f"{prefix}_low": float(low[0]),
        f"{prefix}_high": float(high[0]),
    }
