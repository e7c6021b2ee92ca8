"""What others published: points of one environment, and scores by date."""

from typing import Any, Literal

import altair as alt
import polars as pl

from openrebench.report.figures.curve import Texts
from openrebench.report.render import Figure
from openrebench.report.theme import (
    AGENT_COLOURS,
    GREY,
    HUMAN_COLOUR,
    SHAPES,
    Size,
    finish,
    legend,
    spread,
    time_axis,
    title,
)

HEADING = "published, full size: not comparable"
HEIGHT, LABEL_PX, LABEL_WIDTH = 320, 13, 210
FIRST_H, LAST_H, EARLY_H = 0.4, 80.0, 4.0
Side = Literal["left", "right"]
TICKS_H = (0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0)
ATTEMPT, BEST_OF_K = "human attempt", "human, best of k"
BEST_RUN = "agent, best run, budget not stated"
KINDS = {
    ATTEMPT: (HUMAN_COLOUR, "circle"),
    BEST_OF_K: ("#8a8a8a", "circle"),
    "human, printed": ("#8a8a8a", "diamond"),
    "agent, printed": (AGENT_COLOURS[0], "square"),
    "agent, read off a chart": (AGENT_COLOURS[1], "triangle-up"),
    BEST_RUN: (AGENT_COLOURS[2], "triangle-left"),
}


def published_figure(points: pl.DataFrame, name: str, subject: str, sources: str) -> Figure:
    """Draw published points of one environment or of means over several.

    Args:
        points: Columns what (a key of KINDS), label, budget_h, score, source, status; those whose
            status says so are not drawn.
        name: Stem of the files.
        subject: Published name of the environment, or what the means are over.
        sources: Where the points come from, in a few words.
    """
    shown = points.with_columns(pl.col("budget_h").fill_null(LAST_H)).filter(
        ~pl.col("status").str.contains("not drawn") & (pl.col("budget_h") <= LAST_H)
    )
    return Figure(
        name=name,
        title=f"{subject}: {HEADING}",
        caption="Published results at the published size, on the scale of the published "
        f"reference. Sources: {sources}; each point's own source is in the table. They are never "
        "drawn on one axis with this project's attempts. Points on the right edge have no budget.",
        draw=lambda size: _draw(shown, size, subject),
        table=points,
    )


def _draw(points: pl.DataFrame, size: Size, subject: str) -> Any:  # noqa: ANN401
    present = [kind for kind in KINDS if (points["what"] == kind).any()]
    paint = alt.Scale(domain=present, range=[KINDS[kind][0] for kind in present])
    marks = alt.Scale(domain=present, range=[KINDS[kind][1] for kind in present])
    key = legend(size, len(present))
    top = _top(points)
    x = alt.X(
        "budget_h:Q", axis=time_axis("total time budget", TICKS_H, 5 if size.narrow else 9)
    ).scale(type="log", domain=[FIRST_H, LAST_H], nice=False)
    y = alt.Y("score:Q", title="normalised score (published scale)").scale(domain=[0, top])
    base = alt.Chart(points).encode(
        x=x,
        y=y,
        color=alt.Color("what:N").scale(paint).legend(key),
        shape=alt.Shape("what:N").scale(marks).legend(key),
    )
    human = alt.datum.what == ATTEMPT
    attempts = base.transform_filter(human).mark_point(size=44, opacity=0.55, strokeWidth=1.2)
    dots = base.transform_filter(~human).mark_point(filled=True, size=60, opacity=0.9)
    layers = [attempts, dots]
    if not size.narrow:
        layers += _texts(points, x, paint, top)
    width = size.width if size.narrow else size.width - LABEL_WIDTH
    chart = alt.layer(*layers).properties(
        width=width, height=HEIGHT, title=title(HEADING, [subject], size)
    )
    return finish(chart)


def _texts(points: pl.DataFrame, x: alt.X, paint: alt.Scale, top: float) -> list[alt.Chart]:
    """Names beside the points: agents' in one column to the right, humans' where there is room."""
    gap = top * LABEL_PX / HEIGHT
    agents = _placed(points.filter(pl.col("what").str.starts_with("agent")), gap, top)
    layers = _named(agents.with_columns(edge=pl.lit(LAST_H * 1.02)), x, paint, "left")
    for part in points.filter(pl.col("what") == "human, printed").partition_by("budget_h"):
        early = part["budget_h"][0] < EARLY_H
        edge = pl.col("budget_h") * (1.16 if early else 0.86)
        side: Side = "left" if early else "right"
        layers += _named(_placed(part, gap, top).with_columns(edge=edge), x, paint, side)
    return layers


def _named(data: pl.DataFrame, x: alt.X, paint: alt.Scale, side: Side) -> list[alt.Chart]:
    base = alt.Chart(data).encode(color=alt.Color("what:N").scale(paint))
    rule = base.mark_rule(strokeWidth=0.7, opacity=0.6)
    words = base.mark_text(align=side, dx=3 if side == "left" else -3, fontSize=11, limit=250)
    return [
        rule.encode(x=x, x2="edge:Q", y="score:Q", y2="label_y:Q"),
        words.encode(x=alt.X("edge:Q"), y="label_y:Q", text="label:N"),
    ]


def _placed(points: pl.DataFrame, gap: float, top: float) -> pl.DataFrame:
    places = spread(points["score"].to_list(), gap, 0.0, top)
    return points.with_columns(label_y=pl.Series(places, dtype=pl.Float64))


def _top(points: pl.DataFrame) -> float:
    highest = points["score"].max()
    return max(1.0, highest if isinstance(highest, float) else 1.0) * 1.1


def by_date_figure(results: pl.DataFrame, texts: Texts) -> Figure:
    """Draw published means over several environments by date.

    Args:
        results: Columns date (a date), model, score, tasks, budget, status, source.
        texts: Name, title and subtitle.
    """
    return Figure(
        name=texts.name,
        title=texts.heading,
        caption="Means over several environments, on the reference scale; which environments and "
        "which budget differ, as the table says. Human-normalised figures are on another scale, "
        "so they are listed in the table of published results and not drawn.",
        draw=lambda size: _by_date(results, size, texts),
        table=results,
    )


def _by_date(results: pl.DataFrame, size: Size, texts: Texts) -> Any:  # noqa: ANN401
    top = _top(results)
    gap = top * LABEL_PX / HEIGHT
    parts = results.partition_by("date", maintain_order=True)
    data = pl.concat([_placed(part, gap, top) for part in parts]).with_columns(
        label=pl.format("{}, {}", "model", "budget")
    )
    present = sorted(data["status"].unique().to_list())
    paint = alt.Scale(domain=present, range=[*AGENT_COLOURS, GREY][: len(present)])
    key = legend(size, len(present))
    x = alt.X("date:T", title=None).axis(format="%b %Y", tickCount=4 if size.narrow else 7)
    y = alt.Y("score:Q", title="normalised score (published scale)").scale(domain=[0, top])
    base = alt.Chart(data).encode(x=x, y=y, color=alt.Color("status:N").scale(paint).legend(key))
    dots = base.mark_point(filled=True, size=70, opacity=0.95).encode(
        shape=alt.Shape("status:N")
        .scale(domain=present, range=list(SHAPES)[: len(present)])
        .legend(key)
    )
    layers = [dots]
    if not size.narrow:
        words = base.mark_text(align="left", dx=9, fontSize=11, limit=230)
        layers.append(words.encode(y="label_y:Q", text="label:N"))
    width = size.width if size.narrow else size.width - LABEL_WIDTH
    chart = alt.layer(*layers).properties(
        width=width, height=HEIGHT, title=title(texts.heading, texts.subtitle, size)
    )
    return finish(chart)
