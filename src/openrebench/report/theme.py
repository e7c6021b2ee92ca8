"""How figures look: colours that the colour-blind can tell apart, sizes, axes."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import altair as alt

INK, GREY, FAINT = "#1a1a1a", "#6b6b6b", "#e4e4e4"
HUMAN_COLOUR = INK
# Okabe and Ito's palette without its yellow, which is too light on white.
AGENT_COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")
SHAPES = ("circle", "square", "triangle-up", "diamond", "cross", "triangle-down")
FONT = "Liberation Sans, Arial, Helvetica, sans-serif"
TIME_LABEL = (
    "datum.value == 0 ? '0' : datum.value < 0.0166 ? round(datum.value * 3600) + ' s'"
    " : datum.value < 0.999 ? round(datum.value * 60) + ' min'"
    " : datum.value < 167 ? format(datum.value, '.3~r') + ' h' : '1 week'"
)


class Size(NamedTuple):
    """Inner width of a figure in pixels, and the suffix of its file name."""

    width: int
    suffix: str

    @property
    def narrow(self) -> bool:
        """Whether it is for a phone."""
        return self.width < 500


WIDE, NARROW = Size(720, ""), Size(270, "-narrow")


def colours(solvers: Sequence[tuple[str, str]]) -> dict[str, str]:
    """Give each solver a colour: humans ink, agents the palette in order of their names.

    Args:
        solvers: Pairs of solver and kind.
    """
    agents = sorted({solver for solver, kind in solvers if kind != "human"})
    found = {solver: HUMAN_COLOUR for solver, kind in solvers if kind == "human"}
    return found | {s: AGENT_COLOURS[i % len(AGENT_COLOURS)] for i, s in enumerate(agents)}


def shapes(solvers: Sequence[str]) -> dict[str, str]:
    """Give each solver a mark shape, so that no figure needs colour alone."""
    return {solver: SHAPES[i % len(SHAPES)] for i, solver in enumerate(solvers)}


def scale(mapping: dict[str, str]) -> alt.Scale:
    """Make a scale of a mapping from solver to colour or shape."""
    return alt.Scale(domain=list(mapping), range=list(mapping.values()))


def legend(size: Size, count: int) -> alt.Legend:
    """Legend above the figure, in as many columns as fit."""
    columns = 1 if size.narrow else min(count, 3)
    return alt.Legend(orient="top", direction="horizontal", columns=columns, title=None)


def time_axis(title: str, ticks_h: Sequence[float], size: Size) -> alt.Axis:
    """Axis of times in hours, with ticks where people expect them."""
    wanted = 5 if size.narrow else 10
    step = max(1, -(-len(ticks_h) // wanted))
    return alt.Axis(title=title, values=list(ticks_h)[::step], labelExpr=TIME_LABEL, grid=True)


def finish(chart: alt.TopLevelMixin) -> Any:  # noqa: ANN401 - altair's own chart union
    """Put fonts, sizes and quiet grid lines on a figure."""
    return (
        chart.configure(font=FONT, background="white", padding=8)
        .configure_view(stroke=None)
        .configure_axis(
            gridColor=FAINT,
            domainColor=GREY,
            tickColor=GREY,
            labelColor=INK,
            titleColor=INK,
            labelFontSize=12,
            titleFontSize=13,
            titleFontWeight="normal",
            titlePadding=8,
            labelOverlap="greedy",
        )
        .configure_legend(
            labelFontSize=12, labelLimit=340, symbolSize=90, labelColor=INK, symbolOpacity=1
        )
        .configure_title(
            fontSize=15,
            subtitleFontSize=12,
            subtitleColor=GREY,
            anchor="start",
            color=INK,
            subtitlePadding=4,
            offset=10,
        )
    )


def title(text: str, subtitle: Sequence[str], size: Size) -> alt.TitleParams:
    """Title with lines below it, wrapped to the figure's width."""
    limit = max(24, int((size.width + 60) / 6.2))
    lines = [line for part in subtitle for line in wrapped(part, limit)]
    return alt.TitleParams(wrapped(text, int(limit * 0.8)), subtitle=lines)


def wrapped(text: str, limit: int) -> list[str]:
    """Break a text into lines of at most `limit` characters where words allow it.

    Example:
        >>> wrapped("one two three", 7)
        ['one two', 'three']
    """
    lines = [""]
    for word in text.split():
        if lines[-1] and len(lines[-1]) + 1 + len(word) > limit:
            lines.append("")
        lines[-1] = f"{lines[-1]} {word}".strip()
    return lines
