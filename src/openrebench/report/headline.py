"""The part of a section that is about all its environments together."""

from collections.abc import Iterator, Sequence

import numpy as np
import polars as pl

from openrebench.analysis.bootstrap import Cell, stream
from openrebench.analysis.budgets import Estimates, allocation_frame
from openrebench.analysis.comparisons import SOURCE, paper_comparisons
from openrebench.analysis.cost import cost_frame
from openrebench.analysis.crossover import Crossover, crossover
from openrebench.analysis.curves import area_under, curve
from openrebench.analysis.options import HOUR_S
from openrebench.analysis.robustness import flag_treatments, influence, sensitivity
from openrebench.analysis.summary import (
    attempt_summary,
    left_out_counts,
    outcome_counts,
    pace,
    percentile_among,
)
from openrebench.report.figures.bars import outcomes_figure, pace_figure
from openrebench.report.figures.cost import cost_figure
from openrebench.report.figures.curve import Texts, curve_figure, drawable
from openrebench.report.figures.heatmap import heatmap_figure
from openrebench.report.figures.panels import panels_figure
from openrebench.report.page import Table
from openrebench.report.render import Figure
from openrebench.report.scope import Mean, Scope, curves_of
from openrebench.report.theme import Palette


def _split(estimates: Sequence[Estimates]) -> tuple[Estimates | None, list[Estimates]]:
    """Humans, and agents."""
    humans = [found for found in estimates if found.group.kind == "human"]
    agents = [found for found in estimates if found.group.kind != "human"]
    return (humans[0] if humans else None), agents


def crossings(estimates: Sequence[Estimates]) -> list[tuple[str, Crossover]]:
    """Where humans pass each agent."""
    human, agents = _split(estimates)
    if human is None:
        return []
    ours = curve(human)
    return [(found.group.solver, crossover(ours, curve(found))) for found in agents]


def _best_agent(estimates: Sequence[Estimates]) -> str | None:
    """The agent with the highest point of its curve that draws no attempt twice."""
    _, agents = _split(estimates)
    heights = {
        found.group.solver: max(curve(found).values, default=0.0)
        for found in agents
        if not np.isnan(found.values).all()
    }
    return max(heights, key=lambda name: heights[name], default=None)


def headline_figures(
    scope: Scope, mean: Mean, estimates: Sequence[Estimates], palette: Palette
) -> Iterator[Figure]:
    """The curve, then what it rests on: allocations, cost, score calls."""
    frame = curves_of(estimates)
    if frame.height == 0 or drawable(frame).height == 0:
        return
    best = _best_agent(estimates)
    crossing = dict(crossings(estimates)).get(best or "")
    subtitle = [f"{scope.units}; {mean.words}"]
    if crossing is not None and best is not None:
        subtitle.append(f"Against {best}: {crossing.verdict}.")
    texts = Texts(f"{scope.name}-curve", "Score against total time budget", subtitle)
    yield curve_figure(frame, texts, palette, crossing)
    allocations = allocation_table(estimates)
    if allocations.filter(pl.col("length_h").n_unique().over("solver") > 1).height:
        texts = Texts(f"{scope.name}-allocations", "How to spend a budget", subtitle[:1])
        yield heatmap_figure(allocations, texts)
    costs = pl.concat([cost_frame(scope.table, found, curve(found)) for found in estimates])
    for column, heading in (("cost_usd", "Score against money"), ("score_calls", CALLS)):
        if drawable(costs).filter(pl.col(column) > 0).height:
            texts = Texts(f"{scope.name}-{column.replace('_', '-')}", heading, subtitle[:1])
            yield cost_figure(costs, column, texts, palette)


CALLS = "Score against score calls"


def allocation_table(estimates: Sequence[Estimates]) -> pl.DataFrame:
    """Every way to spend every budget, of all solvers."""
    return pl.concat([allocation_frame(found) for found in estimates])


def environment_panels(scope: Scope, palette: Palette) -> Figure | None:
    """The curves of each environment; None if there is one environment only."""
    names = scope.environments
    if len(names) < 2:
        return None
    frames = [
        frame.with_columns(environment=pl.lit(name))
        for name in names
        if (frame := curves_of(scope.estimates([name]))).height
    ]
    if not frames:
        return None
    texts = Texts(f"{scope.name}-environments", "Each environment", [scope.units])
    return panels_figure(pl.concat(frames), texts, palette)


def count_figures(scope: Scope, palette: Palette) -> Iterator[Figure]:
    """Outcomes of score calls, and pace."""
    outcomes = outcome_counts(scope.table)
    if outcomes.height:
        texts = Texts(f"{scope.name}-outcomes", "Outcomes of score calls", [scope.units])
        yield outcomes_figure(outcomes, texts)
    rates = pace(scope.table)
    if rates.height:
        texts = Texts(f"{scope.name}-pace", "Pace", [scope.units])
        yield pace_figure(rates, texts, palette)


def mean_tables(scope: Scope, mean: Mean, estimates: Sequence[Estimates]) -> Iterator[Table]:
    """Tables about means: what is said in figures, and how robust it is."""
    if not estimates:
        return
    human, agents = _split(estimates)
    found = crossings(estimates)
    if found:
        rows = [{"agent": name, **crossing._asdict()} for name, crossing in found]
        yield Table(
            name=f"{scope.name}-crossovers",
            title="Where humans pass agents",
            frame=pl.DataFrame(rows, infer_schema_length=None),
            caption="0 h: below the range; inf: beyond it.",
        )
    if not scope.own and human is not None:
        yield _comparisons(scope, human, agents)
    yield _areas(scope, estimates)
    if human is not None and agents:
        yield _percentiles(scope, human, agents)
    yield _treatments(scope, mean)
    yield _sensitivity(scope, estimates)
    yield _influence(scope, estimates)
    yield Table(
        name=f"{scope.name}-allocation-table",
        title="Every allocation",
        frame=allocation_table(estimates),
        caption=f"{scope.units}; {mean.words}. Both estimators; unbiased is empty where k is "
        "larger than n. n effective: how many bests of k the environment with the fewest "
        "attempts holds.",
    )


def _comparisons(scope: Scope, human: Estimates, agents: Sequence[Estimates]) -> Table:
    return Table(
        name=f"{scope.name}-paper-comparisons",
        title="The paper's comparisons beside these attempts",
        frame=paper_comparisons(human, agents),
        caption=f"What the paper says is quoted ({SOURCE}), not reproduced: its attempts are not "
        "the public ones. The best agent of each budget is chosen after the fact.",
    )


def _areas(scope: Scope, estimates: Sequence[Estimates]) -> Table:
    """Area under each curve over its own range, and over the range all share."""
    drawn = [(found.group.solver, curve(found)) for found in estimates]
    drawn = [(name, line) for name, line in drawn if len(line.budgets_s) > 1]
    low = max((line.budgets_s[0] for _, line in drawn), default=0.0)
    high = min((line.budgets_s[-1] for _, line in drawn), default=0.0)
    rows = []
    for name, line in drawn:
        for which, ends in (
            ("its own range", (line.budgets_s[0], line.budgets_s[-1])),
            ("range all share", (low, high)),
        ):
            area = area_under(line, float(ends[0]), float(ends[1]))
            if area is not None:
                rows.append({"solver": name, "over": which, **area._asdict()})
    return Table(
        name=f"{scope.name}-areas",
        title="Area under the curve",
        frame=pl.DataFrame(rows),
        caption="Mean score over the logarithm of the budget: a constant curve gives its value.",
    )


def _percentiles(scope: Scope, human: Estimates, agents: Sequence[Estimates]) -> Table:
    """Each agent's best allocation of one human budget, ranked among humans."""
    column = len(human.group.lengths_s) - 1
    length_s = float(human.group.lengths_s[column])
    rows = []
    for found in agents:
        if not len(found.at_budget(length_s)):
            continue
        i = found.best_at(length_s)
        rng = stream(scope.options.seed, "percentile", found.group.solver)
        rank = percentile_among(human.group, column, found, i, rng)
        rows.append(
            {
                "agent": found.group.solver,
                "budget_h": length_s / HOUR_S,
                "length_h": found.allocations[i].length_s / HOUR_S,
                "k": found.allocations[i].cell.k,
                "score": float(found.values[i]),
                "human_percentile": rank.value,
                "low": rank.low,
                "high": rank.high,
                "best_human": _top_score(human, column),
            }
        )
    return Table(
        name=f"{scope.name}-percentiles",
        title="Agents among humans",
        frame=pl.DataFrame(rows),
        caption="Percentile rank of the agent's score@k among human attempts with the same total "
        "budget, in each environment, then averaged; interval over human attempts. Best human: "
        "mean over environments of the best attempt. The paper has o1-preview (AIDE) at 36 and "
        "Claude 3.5 Sonnet New (Modular) at 37.",
    )


def _top_score(human: Estimates, column: int) -> float:
    best = [sample.values[sample.known[:, column], column].max() for sample in human.group.samples]
    return float(np.mean(best))


def _treatments(scope: Scope, mean: Mean) -> Table:
    return Table(
        name=f"{scope.name}-flag-treatments",
        title="Flagged attempts: three treatments",
        frame=flag_treatments(scope.unprepared, mean.environments, scope.options),
        caption="score@1 at the longest length, with flagged attempts as failures (0), dropped, "
        f"and as scored. Figures here use: {scope.options.flagged}.",
    )


def _sensitivity(scope: Scope, estimates: Sequence[Estimates]) -> Table:
    groups = [found.group for found in estimates]
    cells = [Cell(len(group.lengths_s) - 1, 1) for group in groups]
    return Table(
        name=f"{scope.name}-sensitivity",
        title="Sensitivity to normalisation",
        frame=sensitivity(scope.table, groups, cells).pivot(
            on="normalisation", index="solver", values="score"
        ),
        caption="score@1 at each solver's longest length, with scores capped at 1, divided by the "
        "mean human score, replaced by ranks, and with both anchors off by their spread.",
    )


def _influence(scope: Scope, estimates: Sequence[Estimates]) -> Table:
    known = [found for found in estimates if len(found.budgets_s)]
    frames = [influence(scope.table, found) for found in known]
    return Table(
        name=f"{scope.name}-influence",
        title="Influence of the single best attempt",
        frame=pl.concat(frames) if frames else pl.DataFrame(),
        caption="Score of each budget's best allocation, and without the attempt it hangs on most.",
    )


def summary_tables(scope: Scope) -> Iterator[Table]:
    """Counts, shares and what was left out."""
    yield Table(
        name=f"{scope.name}-summary",
        title="Attempts by solver",
        frame=attempt_summary(scope.table),
        caption="Means and shares are of attempts that count. Distinct: different submissions "
        "that were an attempt's score.",
    )
    yield Table(
        name=f"{scope.name}-summary-by-environment",
        title="Attempts by solver and environment",
        frame=attempt_summary(scope.table, "environment"),
    )
    yield Table(
        name=f"{scope.name}-left-out",
        title="What was left out, and why",
        frame=left_out_counts(scope.table),
    )
