"""Score against money, and against score calls."""

from typing import Any

import altair as alt
import polars as pl

from openrebench.report.figures.curve import Texts, curve_layers, drawable, top_of
from openrebench.report.render import Figure
from openrebench.report.theme import GREY, Palette, Size, finish, legend, title

HEIGHT = 280
AXES = {"cost_usd": ("mean cost of the budget, US dollars", "$,~r"), "score_calls": ("score calls", "~r")}


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


def _draw(
    frame: pl.DataFrame, column: str, size: Size, texts: Texts, palette: Palette
) -> Any:  # noqa: ANN401
    words, form = AXES[column]
    present = frame["solver"].unique(maintain_order=True).to_list()
    count = 4 if size.narrow else 8
    x = alt.X(f"{column}:Q", title=words).scale(type="log", nice=False, padding=8).axis(
        format=form, tickCount=count
    )
    y = alt.Y("score:Q", title="mean normalised score").scale(domain=[0, top_of(frame)], nice=False)
    line = alt.Chart(pl.DataFrame({"score": [1.0]})).mark_rule(strokeDash=[2, 3], color=GREY)
    layers = [*curve_layers(frame, x, y, palette, legend(size, len(present))), line.encode(y="score:Q")]
    return finish(
        alt.layer(*layers).properties(
            width=size.width, height=HEIGHT, title=title(texts.heading, texts.subtitle, size)
        )
    )
