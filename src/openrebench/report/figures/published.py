"""What others published about an environment, in a panel of its own."""

from typing import Any

import altair as alt
import polars as pl

from openrebench.report.render import Figure
from openrebench.report.theme import (
    AGENT_COLOURS,
    HUMAN_COLOUR,
    Size,
    finish,
    legend,
    scale,
    time_axis,
    title,
)

HEADING = "published, full size: not comparable"
TICKS_H = (0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0)
KINDS = {
    "human attempt": HUMAN_COLOUR,
    "human, best of k": "#8a8a8a",
    "agent, printed": AGENT_COLOURS[0],
    "agent, read off a chart": AGENT_COLOURS[1],
}
SHAPES = {
    "human attempt": "stroke",
    "human, best of k": "circle",
    "agent, printed": "square",
    "agent, read off a chart": "triangle-up",
}


def published_figure(
    points: pl.DataFrame, name: str, environment_title: str, sources: str
) -> Figure:
    """Draw published points of one environment or of a mean over several.

    Args:
        points: Columns what (a key of KINDS), label, budget_h, score, source, status.
        name: Stem of the files.
        environment_title: Published name.
        sources: Where the points come from, in a few words.
    """
    caption = (
        f"Published results at the published size, on the scale of the published reference. "
        f"Sources: {sources}; each point's own source is in the table. They stand beside this "
        "project's attempts and are never drawn on one axis with them."
    )
    return Figure(
        name=name,
        title=f"{environment_title}: {HEADING}",
        caption=caption,
        draw=lambda size: _draw(points, size, environment_title),
        table=points,
    )


def _draw(points: pl.DataFrame, size: Size, environment_title: str) -> Any:  # noqa: ANN401
    present = {k: v for k, v in KINDS.items() if (points["what"] == k).any()}
    marks = {k: SHAPES[k] for k in present}
    keys = legend(size, len(present))
    x = alt.X("budget_h:Q", axis=time_axis("total time budget", TICKS_H, size)).scale(
        type="log", domain=[0.4, 80], nice=False
    )
    y = alt.Y("score:Q", title="normalised score (published scale)").scale(zero=True)
    base = alt.Chart(points).encode(
        x=x,
        y=y,
        color=alt.Color("what:N").scale(scale(present)).legend(keys),
        shape=alt.Shape("what:N").scale(scale(marks)).legend(keys),
    )
    dots = base.mark_point(filled=True, size=60, opacity=0.75, strokeWidth=1.5)
    text = (
        base.transform_filter(alt.FieldOneOfPredicate(field="what", oneOf=list(KINDS)[2:]))
        .mark_text(align="left", dx=8, fontSize=10.5, limit=150)
        .encode(text="label:N", shape=alt.Shape())
    )
    chart = alt.layer(dots, text).properties(
        width=size.width, height=300, title=title(HEADING, [environment_title], size)
    )
    return finish(chart)
