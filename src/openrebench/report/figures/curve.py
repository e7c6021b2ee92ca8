"""Score against total time budget, with intervals."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import altair as alt
import polars as pl

from openrebench.analysis.crossover import Crossover
from openrebench.analysis.lengths import LADDER_S, MAX_RESAMPLING
from openrebench.analysis.options import HOUR_S
from openrebench.report.render import Figure
from openrebench.report.theme import (
    FAINT,
    GREY,
    INK,
    Palette,
    Size,
    finish,
    legend,
    spread,
    time_axis,
    title,
    wrapped,
)

TICKS_H = tuple(rung / HOUR_S for rung in LADDER_S)
HEIGHT, LABEL_WIDTH, LABEL_HEIGHT, LABEL_CHARACTERS = 380, 170, 15, 26
CAPTION = (
    "Lines: expected best of k attempts; bands: 95 % bootstrap intervals over attempts. Hollow "
    "and dashed: k is larger than n at an environment, so attempts are drawn more than once "
    "(plug-in, biased down). Agents: best allocation of each budget, chosen after the fact. "
    "n: attempts behind a line."
)


class Texts(NamedTuple):
    """What a figure says of itself.

    Attributes:
        name: Stem of its files.
        heading: Title.
        subtitle: Lines below the title: units, and what the figure is not.
    """

    name: str
    heading: str
    subtitle: Sequence[str]


def curve_figure(
    frame: pl.DataFrame, texts: Texts, palette: Palette, crossing: Crossover | None = None
) -> Figure:
    """Draw one curve for each solver in one panel.

    Args:
        frame: Rows of `curve_frame`, of all solvers.
        texts: Name, title and subtitle.
        palette: Colours of the section.
        crossing: Where humans pass the best agent, to be marked.
    """
    shown = drawable(frame)
    return Figure(
        name=texts.name,
        title=texts.heading,
        caption=CAPTION,
        draw=lambda size: _draw(shown, size, texts, palette, crossing),
        table=frame,
    )


def drawable(frame: pl.DataFrame) -> pl.DataFrame:
    """Leave out points that would draw each attempt more than a few times."""
    return frame.filter(pl.col("k") <= MAX_RESAMPLING * pl.col("n_least"))


def _draw(
    frame: pl.DataFrame,
    size: Size,
    texts: Texts,
    palette: Palette,
    crossing: Crossover | None,
) -> Any:  # noqa: ANN401
    top = top_of(frame)
    width = size.width if size.narrow else size.width - LABEL_WIDTH
    present = frame["solver"].unique(maintain_order=True).to_list()
    key = legend(size, len(present)) if size.narrow else None
    x = x_scale(frame, size)
    y = alt.Y("score:Q", title="mean normalised score").scale(domain=[0, top], nice=False)
    layers = [
        *_crossing_layers(crossing, frame, size),
        *curve_layers(frame, x, y, palette, key),
        *anchor_line(frame, x),
    ]
    if not size.narrow:
        layers += _labels(frame, x, y, palette, top)
    chart = alt.layer(*layers).properties(
        width=width, height=HEIGHT, title=title(texts.heading, texts.subtitle, size)
    )
    return finish(chart)


def curve_layers(
    frame: pl.DataFrame, x: alt.X, y: alt.Y, palette: Palette, key: alt.Legend | None
) -> list[alt.Chart]:
    """Bands, lines and points of all solvers."""
    present = frame["solver"].unique(maintain_order=True).to_list()
    plain, keyed = palette.colour(present, None), palette.colour(present, key)
    shape = palette.shape(present, key)
    whole, beyond = frame.filter(~pl.col("resampled")), frame.filter("resampled")
    band = alt.Chart(frame).mark_area(opacity=0.13).encode(
        x=x, y=alt.Y("low:Q"), y2="high:Q", color=plain
    )
    line = alt.Chart(whole).mark_line(strokeWidth=2.4).encode(x=x, y=y, color=plain)
    dashed = (
        alt.Chart(beyond).mark_line(strokeWidth=1.8, strokeDash=[5, 4]).encode(x=x, y=y, color=plain)
    )
    hollow = alt.Chart(beyond).mark_point(fill="white", size=42, opacity=1, strokeWidth=1.6)
    dots = alt.Chart(whole).mark_point(filled=True, size=52, opacity=1)
    return [
        band,
        dashed,
        line,
        hollow.encode(x=x, y=y, color=keyed, shape=shape),
        dots.encode(x=x, y=y, color=keyed, shape=shape),
    ]


def x_scale(frame: pl.DataFrame, size: Size) -> alt.X:
    """Log axis of budgets from the first to the last point."""
    low, high = _ends(frame)
    ticks = [hours for hours in TICKS_H if low * 0.999 <= hours <= high * 1.001]
    axis = time_axis("total time budget", ticks, size)
    return alt.X("budget_h:Q", axis=axis).scale(
        type="log", domain=[low * 0.92, high * 1.08], nice=False
    )


def top_of(frame: pl.DataFrame) -> float:
    """Upper end of the score axis: above every band, and above the reference."""
    highest = frame["high"].max()
    return max(1.1, 1.06 * highest) if isinstance(highest, float) else 1.1


def _ends(frame: pl.DataFrame) -> tuple[float, float]:
    low, high = frame["budget_h"].min(), frame["budget_h"].max()
    assert isinstance(low, float) and isinstance(high, float)
    return low, high


def anchor_line(frame: pl.DataFrame, x: alt.X) -> list[alt.Chart]:
    """The reference solution, whose score is 1."""
    low, _ = _ends(frame)
    line = alt.Chart(pl.DataFrame({"score": [1.0], "budget_h": [low], "text": ["reference = 1"]}))
    rule = line.mark_rule(strokeDash=[2, 3], color=GREY).encode(y="score:Q")
    words = line.mark_text(align="left", dx=2, dy=-7, color=GREY, fontSize=11)
    return [rule, words.encode(x=x, y="score:Q", text="text:N")]


def _labels(
    frame: pl.DataFrame, x: alt.X, y: alt.Y, palette: Palette, top: float
) -> list[alt.Chart]:
    """Each solver's name and n at the right, with a thin line to the end of its curve."""
    ends = frame.sort("budget_h").group_by("solver", maintain_order=True).last()
    most = frame.group_by("solver").agg(n_most=pl.col("n").max())
    ends = ends.join(most, on="solver", maintain_order="left")
    texts = [
        wrapped(f"{solver} (n={n})", LABEL_CHARACTERS)[:2]
        for solver, n in ends.select("solver", "n_most").iter_rows()
    ]
    tallest = max(len(lines) for lines in texts)
    gap = top * (LABEL_HEIGHT * tallest) / HEIGHT
    placed = spread(ends["score"].to_list(), gap, 0.0, top)
    _, high = _ends(frame)
    labels = ends.with_columns(
        text=pl.Series(["\n".join(lines) for lines in texts], dtype=pl.String),
        label_y=pl.Series(placed, dtype=pl.Float64),
        edge=pl.lit(high * 1.08),
    )
    paint = palette.colour(labels["solver"].to_list(), None)
    base = alt.Chart(labels).encode(color=paint)
    leader = base.mark_rule(strokeWidth=0.8, opacity=0.55).encode(
        x=x, x2="edge:Q", y=y, y2="label_y:Q"
    )
    words = base.mark_text(align="left", dx=5, fontSize=12, lineBreak="\n", baseline="middle")
    return [leader, words.encode(x=alt.X("edge:Q"), y="label_y:Q", text="text:N")]


def _crossing_layers(
    crossing: Crossover | None, frame: pl.DataFrame, size: Size
) -> list[alt.Chart]:
    """The budget from which humans are ahead, with its interval."""
    if crossing is None or crossing.budget_h is None:
        return []
    low, high = _ends(frame)
    data = pl.DataFrame(
        {
            "budget_h": [crossing.budget_h],
            "from_h": [max(crossing.low_h, low * 0.92)],
            "to_h": [min(crossing.high_h, high * 1.08)],
            "text": [f"humans ahead from {crossing.budget_h:.3g} h"],
        }
    )
    base = alt.Chart(data)
    band = base.mark_rect(color=FAINT, opacity=0.7).encode(x="from_h:Q", x2="to_h:Q")
    rule = base.mark_rule(color=INK, strokeDash=[6, 3]).encode(x="budget_h:Q")
    words = base.mark_text(align="right", dx=-5, dy=10, color=INK, fontSize=11, baseline="top")
    texts = [] if size.narrow else [words.encode(x="budget_h:Q", y=alt.value(0), text="text:N")]
    return [band, rule, *texts]
