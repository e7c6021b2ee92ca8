"""Score against total time budget, with intervals."""

from collections.abc import Sequence
from dataclasses import dataclass
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
)

TICKS_H = tuple(rung / HOUR_S for rung in LADDER_S)
HEIGHT, LABEL_WIDTH, LABEL_HEIGHT, LABEL_CHARACTERS = 380, 190, 15, 31
EDGE_LOW, EDGE_HIGH = 0.92, 1.08  # room beside the first and the last point
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
    look = Look.of(frame, palette, size, key=size.narrow)
    layers = [
        *_crossing_layers(crossing, look, size),
        *curve_layers(frame, look),
        *anchor_line(look),
    ]
    if not size.narrow:
        layers += _labels(frame, look)
    width = size.width if size.narrow else size.width - LABEL_WIDTH
    chart = alt.layer(*layers).properties(
        width=width, height=HEIGHT, title=title(texts.heading, texts.subtitle, size)
    )
    return finish(chart)


@dataclass(frozen=True, kw_only=True)
class Look:
    """Axes, colours and legend that the layers of a chart share.

    Args:
        low_h: First budget.
        high_h: Last budget.
        top: Upper end of the score axis.
        x: Encoding of the horizontal axis.
        colour: Encoding of solvers by colour.
        shape: Encoding of solvers by shape.
    """

    low_h: float
    high_h: float
    top: float
    x: alt.X
    colour: alt.Color
    shape: alt.Shape

    @classmethod
    def of(
        cls, frame: pl.DataFrame, palette: Palette, size: Size, *, key: bool, ticks: int = 9
    ) -> "Look":
        """Fit the axes to some curves over the budget.

        Args:
            frame: Rows of `curve_frame`.
            palette: Colours of the section.
            size: For the legend.
            key: Whether there is a legend.
            ticks: Most ticks of the budget axis.
        """
        present = frame["solver"].unique(maintain_order=True).to_list()
        low_h, high_h = (float(v) for v in frame.select("budget_h").to_series().sort()[[0, -1]])
        inside = [hours for hours in TICKS_H if low_h * 0.999 <= hours <= high_h * 1.001]
        axis = time_axis("total time budget", inside, min(ticks, 5) if size.narrow else ticks)
        shown = legend(size, len(present)) if key else None
        return cls(
            low_h=low_h,
            high_h=high_h,
            top=top_of(frame),
            x=alt.X("budget_h:Q", axis=axis).scale(
                type="log", domain=[low_h * EDGE_LOW, high_h * EDGE_HIGH], nice=False
            ),
            colour=palette.colour(present, shown),
            shape=palette.shape(present, shown),
        )

    def y(self, field: str = "score") -> alt.Y:
        """Encode a score, always on the same axis."""
        scale = alt.Scale(domain=[0, self.top], nice=False)
        return alt.Y(f"{field}:Q", title="normalised score", scale=scale)


def curve_layers(frame: pl.DataFrame | None, look: Look) -> list[alt.Chart]:
    """Bands, lines and points of all solvers.

    Args:
        frame: Rows of `curve_frame`; None where a facet brings them.
        look: Axes and colours.
    """
    base = alt.Chart(alt.Undefined if frame is None else frame).encode(x=look.x, color=look.colour)
    whole = base.transform_filter("!datum.resampled").encode(y=look.y())
    beyond = base.transform_filter("datum.resampled").encode(y=look.y())
    hollow = beyond.mark_point(fill="white", size=42, opacity=1, strokeWidth=1.6)
    return [
        base.mark_area(opacity=0.13).encode(y=look.y("low"), y2="high:Q"),
        beyond.mark_line(strokeWidth=1.8, strokeDash=[5, 4]),
        whole.mark_line(strokeWidth=2.4),
        hollow.encode(shape=look.shape),
        whole.mark_point(filled=True, size=52, opacity=1).encode(shape=look.shape),
    ]


def top_of(frame: pl.DataFrame) -> float:
    """Upper end of the score axis: above every band, and above the reference."""
    highest = frame["high"].max()
    return max(1.1, 1.06 * highest) if isinstance(highest, float) else 1.1


def anchor_line(look: Look) -> list[alt.Chart]:
    """The reference solution, whose score is 1."""
    data = {"score": [1.0], "budget_h": [look.low_h], "text": ["reference = 1"]}
    line = alt.Chart(pl.DataFrame(data)).encode(y=look.y())
    words = line.mark_text(align="left", dx=2, dy=-7, color=GREY, fontSize=11)
    return [
        line.mark_rule(strokeDash=[2, 3], color=GREY),
        words.encode(x=look.x, text="text:N"),
    ]


def _labels(frame: pl.DataFrame, look: Look) -> list[alt.Chart]:
    """Each solver's name and n at the right, with a thin line to the end of its curve."""
    ends = frame.sort("budget_h").group_by("solver", maintain_order=True).last()
    most = dict(frame.group_by("solver").agg(pl.col("n").max()).rows())
    texts = [label(name, most[name]) for name in ends["solver"].to_list()]
    gap = look.top * LABEL_HEIGHT / HEIGHT
    places = spread(ends["score"].to_list(), gap, 0.0, look.top)
    data = ends.with_columns(
        text=pl.Series(texts, dtype=pl.String),
        label_y=pl.Series(places, dtype=pl.Float64),
        edge=pl.lit(look.high_h * EDGE_HIGH),
    )
    base = alt.Chart(data).encode(color=look.colour)
    leader = base.mark_rule(strokeWidth=0.8, opacity=0.55)
    words = base.mark_text(align="left", dx=5, fontSize=12, baseline="middle")
    return [
        leader.encode(x=look.x, x2="edge:Q", y=look.y(), y2="label_y:Q"),
        words.encode(x=alt.X("edge:Q"), y=look.y("label_y"), text="text:N"),
    ]


def label(solver: str, n: int) -> str:
    """Name a solver with its n; a long name loses its middle.

    Example:
        >>> label("literal_search", 4), len(label("a" * 60, 12))
        ('literal_search (n=4)', 31)
    """
    tail = f" (n={n})"
    room = LABEL_CHARACTERS - len(tail)
    if len(solver) > room:
        half = (room - 1) // 2
        solver = f"{solver[:half]}\N{HORIZONTAL ELLIPSIS}{solver[-(room - 1 - half) :]}"
    return solver + tail


def _crossing_layers(crossing: Crossover | None, look: Look, size: Size) -> list[alt.Chart]:
    """The budget from which humans are ahead, with its interval."""
    if crossing is None or crossing.budget_h is None:
        return []
    data = pl.DataFrame(
        {
            "budget_h": [crossing.budget_h],
            "from_h": [max(crossing.low_h, look.low_h * EDGE_LOW)],
            "to_h": [min(crossing.high_h, look.high_h * EDGE_HIGH)],
            "text": [f"humans ahead from {crossing.budget_h:.3g} h"],
        }
    )
    base = alt.Chart(data)
    band = base.mark_rect(color=FAINT, opacity=0.7).encode(x=alt.X("from_h:Q"), x2="to_h:Q")
    rule = base.mark_rule(color=INK, strokeDash=[6, 3]).encode(x=look.x)
    words = base.mark_text(align="right", dx=-5, dy=10, color=INK, fontSize=11, baseline="top")
    texts = [] if size.narrow else [words.encode(x=look.x, y=alt.value(0), text="text:N")]
    return [band, rule, *texts]
