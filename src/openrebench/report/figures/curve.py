"""Score against total time budget, with intervals."""

from collections.abc import Sequence
from typing import Any

import altair as alt
import polars as pl

from openrebench.analysis.lengths import LADDER_S, MAX_RESAMPLING
from openrebench.analysis.options import HOUR_S
from openrebench.report.render import Figure
from openrebench.report.theme import (
    INK,
    Size,
    colours,
    finish,
    legend,
    scale,
    shapes,
    time_axis,
    title,
)

TICKS_H = tuple(rung / HOUR_S for rung in LADDER_S)
CAPTION = (
    "Lines are the expected best of k attempts, bands 95 % bootstrap intervals over attempts. "
    "Hollow and dashed: k is larger than n, so attempts are drawn more than once (plug-in, biased "
    "down). Agents: best allocation of each budget, chosen after the fact. n counts attempts."
)


def curve_figure(frame: pl.DataFrame, name: str, heading: str, subtitle: Sequence[str]) -> Figure:
    """Draw one curve for each solver.

    Args:
        frame: Rows of `best_curve` and `longest_first_curve`, one for each solver and budget.
        name: Stem of the files.
        heading: Title.
        subtitle: Lines below the title: units, and what the figure is not.
    """
    shown = frame.filter(pl.col("k") <= MAX_RESAMPLING * pl.col("n_least"))
    return Figure(
        name=name,
        title=heading,
        caption=CAPTION,
        draw=lambda size: _draw(shown, size, heading, subtitle),
        table=frame,
    )


def _draw(frame: pl.DataFrame, size: Size, heading: str, subtitle: Sequence[str]) -> Any:  # noqa: ANN401
    frame = _labelled(frame)
    solvers = frame.select("label", "kind").unique(maintain_order=True).rows()
    colour = colours(solvers)
    ticks = [h for h in TICKS_H if _low(frame) <= h <= _high(frame)]
    x = alt.X("budget_h:Q", axis=time_axis("total time budget", ticks, size)).scale(
        type="log", domain=[_low(frame) * 0.9, _high(frame) * 1.1], nice=False
    )
    paint = alt.Color("label:N").scale(scale(colour)).legend(legend(size, len(colour)))
    shape = (
        alt.Shape("label:N").scale(scale(shapes(list(colour)))).legend(legend(size, len(colour)))
    )
    base = alt.Chart(frame).encode(x=x, color=paint)
    y = alt.Y("score:Q", title="mean normalised score").scale(zero=True, nice=True)
    band = base.mark_area(opacity=0.16).encode(y=alt.Y("low:Q"), y2="high:Q")
    whole = alt.Chart(frame.filter(~pl.col("resampled"))).encode(x=x, color=paint)
    beyond = alt.Chart(frame.filter("resampled")).encode(x=x, color=paint)
    line = whole.mark_line(strokeWidth=2.5).encode(y=y)
    dashed = beyond.mark_line(strokeWidth=2, strokeDash=[5, 4]).encode(y=y)
    dots = whole.mark_point(filled=True, size=46, opacity=1).encode(y=y, shape=shape)
    hollow = beyond.mark_point(fill="white", size=40, opacity=1).encode(y=y, shape=shape)
    chart = alt.layer(band, dashed, line, hollow, dots, *_anchor_line()).properties(
        width=size.width, height=340, title=title(heading, subtitle, size)
    )
    return finish(chart)


def _labelled(frame: pl.DataFrame) -> pl.DataFrame:
    least = pl.col("n").min().over("solver")
    most = pl.col("n").max().over("solver")
    n = (
        pl.when(least == most)
        .then(pl.format("n={}", most))
        .otherwise(pl.format("n={}-{}", least, most))
    )
    return frame.with_columns(label=pl.format("{} ({})", "solver", n))


def _anchor_line() -> list[alt.Chart]:
    line = alt.Chart(pl.DataFrame({"y": [1.0], "text": ["reference solution = 1"]}))
    rule = line.mark_rule(strokeDash=[2, 3], color=INK, opacity=0.6).encode(y="y:Q")
    label = line.mark_text(align="left", dx=4, dy=-7, color=INK, opacity=0.8, fontSize=11)
    return [rule, label.encode(y="y:Q", x=alt.value(0), text="text:N")]


def _low(frame: pl.DataFrame) -> float:
    return float(frame["budget_h"].min() or 0.25)  # type: ignore[arg-type]


def _high(frame: pl.DataFrame) -> float:
    return float(frame["budget_h"].max() or 8.0)  # type: ignore[arg-type]
