"""The same curves for each environment, side by side."""

from typing import Any

import altair as alt
import polars as pl

from openrebench.report.figures.curve import Look, Texts, curve_layers, drawable
from openrebench.report.render import Figure
from openrebench.report.theme import GREY, Palette, Size, finish, title

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
    look = Look.of(frame, palette, size, key=True, ticks=3)
    order = frame["environment"].unique(maintain_order=True).to_list()
    line = alt.Chart().mark_rule(strokeDash=[2, 3], color=GREY).encode(y=alt.datum(1.0))
    layered = alt.layer(*curve_layers(None, look), line, data=frame)
    chart = layered.properties(width=width, height=HEIGHT).facet(
        facet=alt.Facet("environment:N", sort=order, title=None),
        columns=columns,
        spacing={"row": 16, "column": GUTTER},
        title=title(texts.heading, texts.subtitle, size),
    )
    return finish(chart)
