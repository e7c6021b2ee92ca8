"""How figures look: colours that the colour-blind can tell apart, sizes, axes."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import altair as alt

INK, GREY, FAINT = "#1a1a1a", "#6b6b6b", "#e6e6e6"
HUMAN_COLOUR, OTHER_COLOUR = INK, "#9a9a9a"
# Okabe and Ito's palette without its yellow, which is too light on white.
AGENT_COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")
SHAPES = ("square", "triangle-up", "diamond", "triangle-down", "cross", "triangle-right")
# One font and one weight: a PDF with several comes out in another order each time.
FONT = "Liberation Sans, Arial, Helvetica, sans-serif"
TIME_LABEL = (
    "datum.value == 0 ? '0' : datum.value < 0.0166 ? round(datum.value * 3600) + ' s'"
    " : datum.value < 0.999 ? format(datum.value * 60, '.3~r') + ' min'"
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


@dataclass(frozen=True, kw_only=True)
class Palette:
    """Colour and shape of each solver, the same in every figure of a section.

    Args:
        colours: Solver to colour: humans ink, the first six agents the palette, others grey.
        shapes: Solver to mark shape, so that no figure needs colour alone.
    """

    colours: dict[str, str]
    shapes: dict[str, str]

    @classmethod
    def of(cls, solvers: Sequence[tuple[str, str]]) -> "Palette":
        """Make a palette.

        Args:
            solvers: Pairs of solver and kind; agents in the order in which they matter.
        """
        agents = [solver for solver, kind in solvers if kind != "human"]
        humans = [solver for solver, kind in solvers if kind == "human"]
        colours = dict.fromkeys(humans, HUMAN_COLOUR) | {
            agent: AGENT_COLOURS[i] if i < len(AGENT_COLOURS) else OTHER_COLOUR
            for i, agent in enumerate(agents)
        }
        shapes = dict.fromkeys(humans, "circle") | {
            agent: SHAPES[i % len(SHAPES)] for i, agent in enumerate(agents)
        }
        return cls(colours=colours, shapes=shapes)

    def colour(self, present: Sequence[str], key: alt.Legend | None) -> alt.Color:
        """Encode solvers by colour, with a legend of those present."""
        chosen = [solver for solver in self.colours if solver in set(present)]
        paint = alt.Scale(domain=chosen, range=[self.colours[solver] for solver in chosen])
        return alt.Color("solver:N").scale(paint).legend(key)

    def shape(self, present: Sequence[str], key: alt.Legend | None) -> alt.Shape:
        """Encode solvers by shape, with the same legend."""
        chosen = [solver for solver in self.shapes if solver in set(present)]
        marks = alt.Scale(domain=chosen, range=[self.shapes[solver] for solver in chosen])
        return alt.Shape("solver:N").scale(marks).legend(key)


def legend(size: Size, count: int) -> alt.Legend:
    """Legend above the figure, in as many columns as fit."""
    columns = 1 if size.narrow else min(count, 3)
    return alt.Legend(orient="top", direction="horizontal", columns=columns, title=None)


def time_axis(title: str, ticks_h: Sequence[float], most: int = 9) -> alt.Axis:
    """Axis of times in hours, with at most so many ticks, where people expect them."""
    step = max(1, -(-len(ticks_h) // most))
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
        .configure_header(labelFontSize=13, labelColor=INK, labelFontWeight="normal")
        .configure_legend(
            labelFontSize=12,
            labelLimit=340,
            symbolSize=90,
            labelColor=INK,
            symbolOpacity=1,
            titleFontWeight="normal",
            titleColor=INK,
        )
        .configure_title(
            fontSize=17,
            fontWeight="normal",
            subtitleFontSize=12,
            subtitleColor=GREY,
            anchor="start",
            color=INK,
            subtitlePadding=5,
            offset=12,
        )
    )


def title(text: str, subtitle: Sequence[str], size: Size) -> alt.TitleParams:
    """Title with lines below it, wrapped to the figure's width."""
    limit = max(24, int((size.width + 60) / 6.2))
    lines = [line for part in subtitle for line in wrapped(part, limit)]
    return alt.TitleParams(wrapped(text, int(limit * 0.72)), subtitle=lines)


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


def log_ticks(low: float, high: float) -> list[float]:
    """Give 1, 2 and 5 times powers of ten between two values, fewer if there are many.

    Example:
        >>> log_ticks(1.5, 60.0)
        [2.0, 5.0, 10.0, 20.0, 50.0]
        >>> log_ticks(1.0, 100000.0)
        [1.0, 10.0, 100.0, 1000.0, 10000.0, 100000.0]
    """
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    factors = (1.0, 2.0, 5.0) if high / low < 3000 else (1.0,)
    ticks = (round(factor * 10.0**power, 12) for power in powers for factor in factors)
    return [tick for tick in ticks if low <= tick <= high]


def spread(values: Sequence[float], gap: float, low: float, high: float) -> list[float]:
    """Move values apart, as little as needed, so that labels at them don't collide.

    Args:
        values: Where labels belong.
        gap: Least distance of two labels.
        low: Lowest place allowed.
        high: Highest place allowed.

    Example:
        >>> spread([1.0, 1.0, 0.0], 0.5, 0.0, 2.0)
        [1.0, 1.5, 0.0]
        >>> spread([2.0, 2.0], 0.5, 0.0, 2.0)
        [1.5, 2.0]
    """
    order = sorted(range(len(values)), key=lambda i: values[i])
    placed: list[float] = []
    for i in order:
        placed.append(max(values[i], placed[-1] + gap if placed else low))
    ceiling = high
    for j in range(len(placed) - 1, -1, -1):
        placed[j] = min(placed[j], ceiling)
        ceiling = placed[j] - gap
    found = [0.0] * len(values)
    for j, i in enumerate(order):
        found[i] = placed[j]
    return found
