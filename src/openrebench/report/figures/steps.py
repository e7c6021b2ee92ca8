"""Best score so far of each attempt over its working time."""

from typing import Any

import altair as alt
import polars as pl

from openrebench.analysis.lengths import LADDER_S
from openrebench.analysis.options import HOUR_S
from openrebench.analysis.table import Attempts
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

MAX_LINES = 200
UNEQUAL = 6.0  # from this ratio of lengths on, time is drawn on a log axis
NICE_STEPS_H = (
    *(n / 3600 for n in (1, 2, 5, 10, 15, 20, 30, 60, 120, 300, 600, 900, 1800)),
    *(1.0, 2.0, 4.0, 8.0, 24.0),
)


def step_rows(table: Attempts) -> pl.DataFrame:
    """Tabulate every score call with the score that counts after it.

    Scores are normalised where anchors exist, else raw.
    """
    attempts = table.attempts.with_row_index("row").select(
        "row", "attempt", "solver", "kind", "counts", "unit", "length_s", "anchors"
    )
    rows = table.entries.join(
        attempts.with_columns(pl.col("row").cast(pl.UInt32)), on="row", maintain_order="left"
    )
    clipped = pl.max_horizontal(pl.col("score"), 0.0)
    best = clipped.cum_max().over("row")
    last = clipped.forward_fill().over("row")
    so_far = pl.when(pl.col("counts") == "last").then(last).otherwise(best)
    return rows.with_columns(
        at_h=pl.col("at_s") / HOUR_S,
        so_far=so_far.forward_fill().over("row").fill_null(0.0),
        call=pl.int_range(pl.len()).over("row"),
    ).select(
        *("attempt", "solver", "kind", "call", "at_h", "outcome", "raw", "unit"),
        *("score", "so_far", (pl.col("length_s") / HOUR_S).alias("length_h")),
    )


def steps_figure(table: Attempts, name: str, heading: str, subtitle: str) -> Figure:
    """Draw the score log of every attempt as steps, invalid calls below the axis."""
    rows = step_rows(table)
    shown = rows["attempt"].unique(maintain_order=True)[:MAX_LINES]
    more = rows["attempt"].n_unique() - len(shown)
    note = f" The first {MAX_LINES} attempts of {more + MAX_LINES}." if more > 0 else ""
    return Figure(
        name=name,
        title=heading,
        caption="Each step is a score call that improved on the attempt's earlier ones; crosses "
        f"below 0 are invalid submissions. 0 is the starting solution, 1 the reference.{note}",
        draw=lambda size: _draw(
            rows.filter(pl.col("attempt").is_in(shown.implode())), size, heading, subtitle
        ),
        table=rows,
    )


def _draw(rows: pl.DataFrame, size: Size, heading: str, subtitle: str) -> Any:  # noqa: ANN401
    solvers = rows.select("solver", "kind").unique(maintain_order=True).rows()
    colour = colours(solvers)
    first_h = _first_h(rows)
    clipped = pl.max_horizontal(pl.col("at_h"), first_h)
    lines, points = _with_ends(rows).with_columns(at=clipped), rows.with_columns(at=clipped)
    x = _time_scale(rows, first_h, size)
    y = alt.Y("so_far:Q", title="normalised score, best so far")
    paint = (
        alt.Color("solver:N")
        .scale(scale(colour))
        .legend(legend(size, len(colour)) if len(colour) > 1 else None)
    )
    base = alt.Chart(lines).encode(x=x, y=y, color=paint, detail="attempt:N")
    steps = base.mark_line(interpolate="step-after", strokeWidth=1.8, opacity=0.85)
    improved = alt.Chart(points.filter(outcome="scored")).mark_point(filled=True, size=22)
    shape = alt.Shape("solver:N").scale(scale(shapes(list(colour)))).legend(None)
    dots = improved.encode(x=x, y=y, color=paint, shape=shape)
    invalid = points.filter(pl.col("outcome") != "scored").with_columns(below=pl.lit(-0.06))
    crosses = (
        alt.Chart(invalid)
        .mark_point(shape="cross", angle=45, size=28, filled=True, opacity=0.7)
        .encode(x=x, y="below:Q", color=paint)
    )
    chart = alt.layer(steps, dots, crosses, *_reference_line(rows)).properties(
        width=size.width, height=260, title=title(heading, [subtitle], size)
    )
    return finish(chart)


def _reference_line(rows: pl.DataFrame) -> list[alt.Chart]:
    top = rows["so_far"].max()
    if not isinstance(top, float) or top < 0.6:
        return []
    line = alt.Chart(pl.DataFrame({"y": [1.0], "text": ["reference solution"]}))
    rule = line.mark_rule(strokeDash=[2, 3], color=INK, opacity=0.6).encode(y="y:Q")
    label = line.mark_text(align="right", dy=-7, color=INK, opacity=0.8, fontSize=11).encode(
        y="y:Q", x=alt.value("width"), text="text:N"
    )
    return [rule, label]


def _first_h(rows: pl.DataFrame) -> float:
    """Where a log axis begins when attempts are of very unequal length, else 0."""
    shortest, longest = rows["length_h"].min(), rows["length_h"].max()
    assert isinstance(shortest, float) and isinstance(longest, float)
    return shortest / 60 if longest > UNEQUAL * shortest else 0.0


def _time_scale(rows: pl.DataFrame, first_h: float, size: Size) -> alt.X:
    last = rows["length_h"].max()
    last_h = last if isinstance(last, float) and last > 0 else 1.0
    if first_h:
        ticks = [rung / HOUR_S for rung in LADDER_S if first_h <= rung / HOUR_S <= last_h]
        axis = time_axis("working time", ticks, size)
        return alt.X("at:Q", axis=axis).scale(type="log", domain=[first_h, last_h], nice=False)
    count = 4 if size.narrow else 8
    step = min((step for step in NICE_STEPS_H if last_h / step <= count), default=NICE_STEPS_H[-1])
    ticks = [i * step for i in range(int(last_h / step) + 1)]
    axis = time_axis("working time", ticks, size)
    return alt.X("at:Q", axis=axis).scale(domain=[0, last_h], nice=False)


def _with_ends(rows: pl.DataFrame) -> pl.DataFrame:
    """Begin each line at 0, and carry its last score to the end of the attempt."""
    ends = rows.group_by("attempt", maintain_order=True).last().with_columns(at_h="length_h")
    starts = (
        rows.group_by("attempt", maintain_order=True)
        .first()
        .with_columns(at_h=pl.lit(0.0), so_far=pl.lit(0.0))
    )
    return pl.concat([starts.select(rows.columns), rows, ends.select(rows.columns)])
