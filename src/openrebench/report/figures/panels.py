"""The same curves for each environment, side by side."""

from typing import Any

import altair as alt
import polars as pl

from openrebench.report.figures.curve import (
    Texts,
    anchor_line,
    curve_layers,
    drawable,
    top_of,
    x_scale,
)
from openrebench.report.render import Figure
from openrebench.report.theme import Palette, Size, finish, legend, title

COLUMNS, HEIGHT, GUTTER = 3, 150, 34


def panels_figure(frame: pl.DataFrame, texts: Texts, palette: Palette) -> Figure:
    """Draw a small panel for each environment, all with the same axes.

    Args:
        frame: Rows of `curve_frame` with a column `environment`.
        texts: Name, title and subtitle.
        palette: Colours of the section.
    """
    shown = drawable(frame)
    return Figure(
        name=texts.name,
        title=texts.heading,
        caption="One panel for each environment, on the same axes. Bands are 95 % bootstrap "
        "intervals over its attempts; hollow and dashed where k is larger than n.",
        draw=lambda size: _draw(shown, size, texts, palette),
        table=frame,
    )


def _draw(frame: pl.DataFrame, size: Size, texts: Texts, palette: Palette) -> Any:  # noqa: ANN401
    columns = 1 if size.narrow else COLUMNS
    width = (size.width - GUTTER * (columns - 1)) // columns
    present = frame["solver"].unique(maintain_order=True).to_list()
    key = legend(size, len(present))
    x = x_scale(frame, Size(width, "") if not size.narrow else size)
    y = alt.Y("score:Q", title="score").scale(domain=[0, top_of(frame)], nice=False)
    panels = []
    for name in frame["environment"].unique(maintain_order=True).to_list():
        part = frame.filter(pl.col("environment") == name)
        layers = [*curve_layers(part, x, y, palette, key), *anchor_line(frame, x)]
        heading = alt.TitleParams(name, fontSize=13, offset=4, anchor="start")
        panels.append(alt.layer(*layers).properties(width=width, height=HEIGHT, title=heading))
    chart = alt.concat(*panels, columns=columns, spacing=14).properties(
        title=title(texts.heading, texts.subtitle, size)
    )
    return finish(chart.resolve_scale(color="shared", shape="shared"))
