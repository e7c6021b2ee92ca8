"""Allocation tables as heat maps: attempt length against total budget."""

from typing import Any, Literal

import altair as alt
import polars as pl

from openrebench.report.figures.curve import Texts, drawable
from openrebench.report.render import Figure
from openrebench.report.theme import INK, Size, finish, title

CELL_HEIGHT, WIDE_CELL, NARROW_CELL, NARROW_COLUMNS = 38, 62, 40, 6
BEST_COLOUR, INSET = "#D55E00", 0.9
SCHEME: Literal["cividis"] = "cividis"


def heatmap_figure(frame: pl.DataFrame, texts: Texts) -> Figure:
    """Draw one map for each solver that has attempts of more than one length.

    Args:
        frame: Rows of `allocation_frame`, of all solvers.
        texts: Name, title and subtitle.
    """
    return Figure(
        name=texts.name,
        title=texts.heading,
        caption="Each cell: expected best of k attempts of one length for a total budget, and k. "
        "Framed: the best allocation of a budget, chosen after the fact, of those that draw no "
        "attempt twice. A star: k is larger than n, so attempts are drawn more than once. "
        "Intervals, n and effective n are in the table; a narrow screen shows every few budgets.",
        draw=lambda size: _draw(frame, size, texts),
        table=frame,
    )


def _draw(frame: pl.DataFrame, size: Size, texts: Texts) -> Any:  # noqa: ANN401
    shown = _labelled(drawable(frame), narrow=size.narrow)
    highest = shown["score"].max()
    top = max(highest, 0.1) if isinstance(highest, float) else 1.0
    maps = []
    for solver in shown["solver"].unique(maintain_order=True).to_list():
        part = shown.filter(pl.col("solver") == solver)
        columns = part["budget"].n_unique()
        cell = NARROW_CELL if size.narrow else min(WIDE_CELL, (size.width - 40) // columns)
        chart = _map(part, top, narrow=size.narrow).properties(
            width=cell * columns,
            height=CELL_HEIGHT * part["length"].n_unique(),
            title=alt.TitleParams(
                f"{solver}: length of one attempt", fontSize=13, offset=6, anchor="start"
            ),
        )
        maps.append(chart)
    return finish(
        alt.vconcat(*maps, spacing=18).properties(title=title(texts.heading, texts.subtitle, size))
    )


def _map(part: pl.DataFrame, top: float, *, narrow: bool) -> alt.LayerChart | alt.FacetChart:
    order_x = part.sort("budget_h")["budget"].unique(maintain_order=True).to_list()
    order_y = part.sort("length_h", descending=True)["length"].unique(maintain_order=True).to_list()
    x = alt.X("budget:N", sort=order_x, title="total budget").axis(labelAngle=-45 if narrow else 0)
    y = alt.Y("length:N", sort=order_y, title=None)
    base = alt.Chart(part).encode(x=x, y=y)
    paint = alt.Color("score:Q", title="score").scale(alt.Scale(scheme=SCHEME, domain=[0, top]))
    cells = base.mark_rect(stroke="white", strokeWidth=2).encode(
        color=paint.legend(None if narrow else alt.Legend(gradientLength=90))
    )
    inset = alt.RelativeBandSize(INSET)
    frames = (
        alt.Chart(part.filter("best"))
        .mark_rect(filled=False, stroke=BEST_COLOUR, strokeWidth=2.5, width=inset, height=inset)
        .encode(x=x, y=y)
    )
    ink = alt.when(alt.datum.score > 0.6 * top).then(alt.value(INK)).otherwise(alt.value("white"))
    score = base.mark_text(fontSize=12 if not narrow else 9.5, dy=-6).encode(
        text="text:N", color=ink
    )
    k = base.mark_text(fontSize=10 if not narrow else 8, dy=9).encode(text="of_k:N", color=ink)
    return alt.layer(cells, frames, score, k)


def _labelled(frame: pl.DataFrame, *, narrow: bool) -> pl.DataFrame:
    """Words for times and cells; solvers with one length only have nothing to compare."""
    several = frame.filter(pl.col("length_h").n_unique().over("solver") > 1)
    chosen = several if several.height else frame
    if narrow:
        place = pl.col("budget_h").rank("dense").over("solver") - 1
        most = place.max().over("solver")
        chosen = chosen.filter(place % (most // NARROW_COLUMNS + 1) == 0)
    star = pl.when("resampled").then(pl.lit("*")).otherwise(pl.lit(""))
    return chosen.with_columns(
        budget=pl.col("budget_h").map_elements(duration, return_dtype=pl.String),
        length=pl.col("length_h").map_elements(duration, return_dtype=pl.String),
        text=pl.col("score").map_elements(lambda v: f"{v:.2f}", return_dtype=pl.String) + star,
        of_k=pl.format("k={}", "k"),
    )


def duration(hours: float) -> str:
    """Write hours for people.

    Example:
        >>> duration(0.5), duration(8.0), duration(168.0), duration(1 / 240)
        ('30 min', '8 h', '1 week', '15 s')
    """
    if hours < 0.0166:
        return f"{hours * 3600:.0f} s"
    if hours < 0.999:
        return f"{hours * 60:.0f} min"
    return "1 week" if abs(hours - 168) < 0.1 else f"{hours:.3g} h"
