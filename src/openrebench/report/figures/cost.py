"""Score against money, and against score calls."""

from dataclasses import replace
from typing import Any

import altair as alt
import polars as pl

from openrebench.report.figures.curve import Look, Texts, curve_layers, drawable
from openrebench.report.render import Figure
from openrebench.report.theme import GREY, Palette, Size, finish, log_ticks, title

HEIGHT = 280
AXES = {
    "cost_usd": ("mean cost of the budget, US dollars", "$,~r"),
    "score_calls": ("score calls", "~r"),
}


def cost_figure(frame: pl.DataFrame, column: str, texts: Texts, palette: Palette) -> Figure:
    """Draw curves against what their budgets cost.

    Args:
        frame: Rows of `cost_frame`, of all solvers.
        column: "cost_usd" or "score_calls".
        texts: Name, title and subtitle.
        palette: Colours of the section.
    """
    known = drawable(frame).filter(pl.col(column) > 0)
    unknown = sorted(set(frame["solver"].to_list()) - set(known["solver"].to_list()))
    missing = f" Unknown, so not drawn: {', '.join(unknown)}." if unknown else ""
    return Figure(
        name=texts.name,
        title=texts.heading,
        caption="The curves over the time budget, placed by what each budget costs on average. An "
        f"attempt cut to a shorter time costs its share; a human's is paid in full.{missing}",
        draw=lambda size: _draw(known, column, size, texts, palette),
        table=frame,
    )


def _draw(frame: pl.DataFrame, column: str, size: Size, texts: Texts, palette: Palette) -> Any:  # noqa: ANN401
    words, form = AXES[column]
    low, high = (float(v) for v in frame[column].sort()[[0, -1]])
    axis = alt.Axis(title=words, format=form, values=log_ticks(low * 0.9, high * 1.1))
    x = alt.X(f"{column}:Q", axis=axis).scale(
        type="log", nice=False, domain=[low * 0.9, high * 1.1]
    )
    look = replace(Look.of(frame, palette, size, key=True), x=x)
    line = alt.Chart(pl.DataFrame({"score": [1.0]})).mark_rule(strokeDash=[2, 3], color=GREY)
    layers = [*curve_layers(frame, look), line.encode(y=look.y())]
    return finish(
        alt.layer(*layers).properties(
            width=size.width, height=HEIGHT, title=title(texts.heading, texts.subtitle, size)
        )
    )
