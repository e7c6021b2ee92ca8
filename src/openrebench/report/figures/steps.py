"""Best score so far of each attempt over its working time."""

from typing import Any

import altair as alt
import polars as pl

from openrebench.analysis.lengths import LADDER_S
from openrebench.analysis.options import HOUR_S
from openrebench.analysis.table import Attempts
from openrebench.report.figures.curve import Texts
from openrebench.report.render import Figure
from openrebench.report.theme import GREY, Palette, Size, finish, legend, time_axis, title

MAX_LINES, MANY = 200, 20
HEIGHT = 280
UNEQUAL = 6.0  # from this ratio of lengths on, time is drawn on a log axis
NICE_STEPS_H = (
    *(n / 3600 for n in (1, 2, 5, 10, 15, 20, 30, 60, 120, 300, 600, 900, 1800)),
    *(1.0, 2.0, 4.0, 8.0, 24.0),
)


def step_rows(table: Attempts) -> pl.DataFrame:
    """Tabulate every score call with the score that counts after it.

    Scores are normalised where anchors exist; else `so_far` is null and `raw` is all there is.
    """
    attempts = table.attempts.with_row_index("row").select(
        *(pl.col("row").cast(pl.UInt32), "attempt", "solver", "kind", "counts", "unit"),
        *("length_s", (pl.col("anchors") != "").alias("normalised")),
    )
    rows = table.entries.join(attempts, on="row", maintain_order="left")
    clipped = pl.max_horizontal(pl.col("score"), 0.0)
    so_far = (
        pl.when(pl.col("counts") == "last").then(clipped).otherwise(clipped.cum_max().over("row"))
    )
    return rows.with_columns(
        at_h=pl.col("at_s") / HOUR_S,
        so_far=pl.when("normalised").then(so_far.forward_fill().over("row").fill_null(0.0)),
        call=pl.int_range(pl.len()).over("row"),
        length_h=pl.col("length_s") / HOUR_S,
    ).select(
        *("attempt", "solver", "kind", "call", "at_h", "outcome", "reason", "raw", "unit"),
        *("score", "so_far", "length_h"),
    )


def steps_figure(table: Attempts, texts: Texts, palette: Palette) -> Figure:
    """Draw the score log of every attempt as steps, invalid calls below the axis.

    Without anchors raw scores are drawn, every call a point.
    """
    rows = step_rows(table)
    names = rows["attempt"].unique(maintain_order=True)
    shown = rows.filter(pl.col("attempt").is_in(names[:MAX_LINES].implode()))
    normalised = rows["so_far"].null_count() < rows.height
    what = (
        "Each step is a score call that improved on the attempt's earlier ones; 0 is the starting "
        "solution, 1 the reference."
        if normalised
        else "Raw score of every valid call: the device has no anchors, so there is no scale."
    )
    more = f" The first {MAX_LINES} of {len(names)} attempts." if len(names) > MAX_LINES else ""
    return Figure(
        name=texts.name,
        title=texts.heading,
        caption=f"{what} Crosses at the bottom are invalid submissions.{more}",
        draw=lambda size: _draw(shown, size, texts, palette, normalised=normalised),
        table=rows,
    )


def _draw(
    rows: pl.DataFrame, size: Size, texts: Texts, palette: Palette, *, normalised: bool
) -> Any:  # noqa: ANN401
    first_h = _first_h(rows)
    clipped = pl.max_horizontal(pl.col("at_h"), first_h)
    points = rows.with_columns(at=clipped, y=pl.col("so_far" if normalised else "raw"))
    x = _time_scale(rows, first_h, size)
    word = "normalised score, best so far" if normalised else f"raw score ({rows['unit'][0]})"
    y = alt.Y("y:Q", title=word).scale(zero=normalised)
    present = rows["solver"].unique(maintain_order=True).to_list()
    key = legend(size, len(present)) if len(present) > 1 else None
    colour, shape = palette.colour(present, key), palette.shape(present, key)
    many = rows["attempt"].n_unique() > MANY
    base = alt.Chart(points).encode(x=x, color=colour)
    valid = base.transform_filter("datum.outcome == 'scored'").encode(y=y, shape=shape)
    invalid = base.transform_filter("datum.outcome != 'scored'").encode(y=alt.value(HEIGHT - 7))
    layers = [
        valid.mark_point(filled=True, size=12 if many else 22, opacity=0.9),
        invalid.mark_point(shape="cross", angle=45, size=30, filled=True, opacity=0.75),
    ]
    if normalised:
        lines = _with_ends(rows).with_columns(at=clipped, y=pl.col("so_far"))
        steps = alt.Chart(lines).mark_line(
            interpolate="step-after", strokeWidth=1.7, opacity=0.45 if many else 0.85
        )
        drawn = steps.encode(x=x, y=y, color=colour, detail="attempt:N")
        layers = [drawn, *layers, *_reference_line(rows)]
    chart = alt.layer(*layers).properties(
        width=size.width, height=HEIGHT, title=title(texts.heading, texts.subtitle, size)
    )
    return finish(chart)


def _first_h(rows: pl.DataFrame) -> float:
    """Where a log axis begins when attempts are of very unequal length, else 0."""
    shortest, longest = rows["length_h"].min(), rows["length_h"].max()
    assert isinstance(shortest, float) and isinstance(longest, float)
    return shortest / 60 if longest > UNEQUAL * shortest > 0 else 0.0


def _time_scale(rows: pl.DataFrame, first_h: float, size: Size) -> alt.X:
    last = rows["length_h"].max()
    last_h = last if isinstance(last, float) and last > 0 else 1.0
    if first_h:
        ticks = [rung / HOUR_S for rung in LADDER_S if first_h <= rung / HOUR_S <= last_h]
        axis = time_axis("working time", ticks, 5 if size.narrow else 9)
        return alt.X("at:Q", axis=axis).scale(type="log", domain=[first_h, last_h], nice=False)
    count = 4 if size.narrow else 8
    step = min((step for step in NICE_STEPS_H if last_h / step <= count), default=last_h)
    ticks = [i * step for i in range(int(last_h / step * 1.001) + 1)]
    axis = time_axis("working time", ticks, 5 if size.narrow else 9)
    return alt.X("at:Q", axis=axis).scale(domain=[0, last_h], nice=False)


def _reference_line(rows: pl.DataFrame) -> list[alt.Chart]:
    top = rows["so_far"].max()
    if not isinstance(top, float) or top < 0.6:
        return []
    line = alt.Chart(pl.DataFrame({"y": [1.0], "text": ["reference = 1"]}))
    rule = line.mark_rule(strokeDash=[2, 3], color=GREY).encode(y="y:Q")
    label = line.mark_text(align="left", dx=3, dy=-7, color=GREY, fontSize=11)
    return [rule, label.encode(y="y:Q", x=alt.value(0), text="text:N")]


def _with_ends(rows: pl.DataFrame) -> pl.DataFrame:
    """Begin each line at 0, and carry its last score to the end of the attempt."""
    grouped = rows.group_by("attempt", maintain_order=True)
    starts = grouped.first().with_columns(at_h=pl.lit(0.0), so_far=pl.lit(0.0))
    ends = grouped.last().with_columns(at_h=pl.max_horizontal("length_h", "at_h"))
    return pl.concat([starts.select(rows.columns), rows, ends.select(rows.columns)])
