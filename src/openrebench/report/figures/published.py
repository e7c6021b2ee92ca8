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
HEIGHT_PX, LABEL_PX = 300, 13
TICKS_H = (0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0)
KINDS = {
    "human attempt": HUMAN_COLOUR,
    "human, best of k": "#8a8a8a",
    "agent, printed": AGENT_COLOURS[0],
    "agent, read off a chart": AGENT_COLOURS[1],
}
SHAPES = {
    "human attempt": "circle",
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
    top = _top(points)
    x = alt.X("budget_h:Q", axis=time_axis("total time budget", TICKS_H, size)).scale(
        type="log", domain=[0.4, 110], nice=False
    )
    y = alt.Y("score:Q", title="normalised score (published scale)").scale(domain=[0, top])
    base = alt.Chart(points).encode(
        x=x,
        y=y,
        color=alt.Color("what:N").scale(scale(present)).legend(keys),
        shape=alt.Shape("what:N").scale(scale(marks)).legend(keys),
    )
    human = alt.datum.what == "human attempt"
    attempts = base.transform_filter(human).mark_point(size=46, opacity=0.6, strokeWidth=1.3)
    dots = base.transform_filter(~human).mark_point(filled=True, size=60, opacity=0.85)
    labels = _spread_labels(points, top * LABEL_PX / HEIGHT_PX)
    text = (
        alt.Chart(labels)
        .mark_text(
            align="right" if size.narrow else "left",
            dx=-8 if size.narrow else 9,
            fontSize=10.5,
            limit=170,
        )
        .encode(
            x=x,
            y=alt.Y("label_y:Q"),
            text="label:N",
            color=alt.Color("what:N").scale(scale(present)).legend(None),
        )
    )
    chart = alt.layer(attempts, dots, text).properties(
        width=size.width, height=HEIGHT_PX, title=title(HEADING, [environment_title], size)
    )
    return finish(chart)


def _top(points: pl.DataFrame) -> float:
    highest = points["score"].max()
    return max(1.0, highest if isinstance(highest, float) else 1.0) * 1.08


def _spread_labels(points: pl.DataFrame, gap: float) -> pl.DataFrame:
    """Place the labels of agents so that those at one budget don't lie on each other.

    Args:
        points: As `published_figure` takes them.
        gap: Least distance of two labels, in scores.
    """
    agents = points.filter(pl.col("what").str.starts_with("agent")).sort("budget_h", "score")
    placed: list[float] = []
    budget = None
    for row in agents.iter_rows(named=True):
        free = placed[-1] + gap if placed and row["budget_h"] == budget else row["score"]
        placed.append(max(row["score"], free))
        budget = row["budget_h"]
    return agents.with_columns(label_y=pl.Series(placed, dtype=pl.Float64))
