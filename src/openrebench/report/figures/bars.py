"""Outcomes of score calls, and pace."""

from typing import Any

import altair as alt
import polars as pl

from openrebench.report.figures.curve import Texts
from openrebench.report.render import Figure
from openrebench.report.theme import (
    AGENT_COLOURS,
    GREY,
    HUMAN_COLOUR,
    Palette,
    Size,
    finish,
    legend,
    log_ticks,
    title,
)

ROW = 30
# Source: Wijk et al. 2024, arXiv:2411.15114.
PUBLISHED_PACE = (("AIDE", 36.8), ("Modular", 25.3), ("human experts", 3.4))
OUTCOME_COLOURS = {"scored": AGENT_COLOURS[0], "error (ours)": "#8a8a8a"}
INVALID_COLOURS = ("#D55E00", "#E69F00", "#CC79A7", "#7a3b00", "#F0C27B", "#a35a85")


def outcomes_figure(counts: pl.DataFrame, texts: Texts) -> Figure:
    """Draw the share of score calls by outcome, invalid ones by reason.

    Args:
        counts: Rows of `outcome_counts`.
        texts: Name, title and subtitle.
    """
    return Figure(
        name=texts.name,
        title=texts.heading,
        caption="Share of all score calls. Invalid: the submission's fault, by reason. Errors are "
        "ours and count for nobody.",
        draw=lambda size: _outcomes(counts, size, texts),
        table=counts,
    )


def _outcomes(counts: pl.DataFrame, size: Size, texts: Texts) -> Any:  # noqa: ANN401
    word = (
        pl.when(pl.col("outcome") == "invalid")
        .then(pl.format("invalid: {}", "reason"))
        .when(pl.col("outcome") == "error")
        .then(pl.lit("error (ours)"))
        .otherwise(pl.col("outcome"))
    )
    total = pl.col("calls").sum().over("solver")
    rows = counts.with_columns(what=word, label=pl.format("{} ({} calls)", "solver", total))
    invalid = sorted(set(rows["what"].to_list()) - set(OUTCOME_COLOURS))
    paint = OUTCOME_COLOURS | {
        name: INVALID_COLOURS[i % len(INVALID_COLOURS)] for i, name in enumerate(invalid)
    }
    order = ["scored", *invalid, "error (ours)"]
    present = [name for name in order if name in set(rows["what"].to_list())]
    rows = rows.with_columns(
        place=pl.col("what").replace_strict(order, list(range(len(order))), return_dtype=pl.Int64)
    )
    chart = (
        alt.Chart(rows)
        .mark_bar(height=18)
        .encode(
            x=alt.X("calls:Q", stack="normalize", title="share of score calls").axis(format="%"),
            y=alt.Y(
                "label:N", title=None, sort=rows["label"].unique(maintain_order=True).to_list()
            ).axis(labelLimit=150 if size.narrow else 260),
            color=alt.Color("what:N")
            .scale(domain=present, range=[paint[name] for name in present])
            .legend(legend(size, len(present))),
            order="place:Q",
        )
    )
    width = size.width - (110 if size.narrow else 200)
    return finish(
        chart.properties(
            width=width,
            height=ROW * rows["label"].n_unique(),
            title=title(texts.heading, texts.subtitle, size),
        )
    )


def pace_figure(pace: pl.DataFrame, texts: Texts, palette: Palette) -> Figure:
    """Draw score calls per working hour, with the published values apart in grey.

    Args:
        pace: Rows of `pace`.
        texts: Name, title and subtitle.
        palette: Colours of the section.
    """
    return Figure(
        name=texts.name,
        title=texts.heading,
        caption="Score calls per working hour. Grey and hollow: published, at full size (Wijk et "
        "al. 2024): AIDE 36.8, Modular 25.3, human experts 3.4.",
        draw=lambda size: _pace(pace, size, texts, palette),
        table=pace,
    )


def _pace(pace: pl.DataFrame, size: Size, texts: Texts, palette: Palette) -> Any:  # noqa: ANN401
    own = pace.select(
        label=pl.format("{} (n={})", "solver", "n"), rate="calls_per_hour", solver="solver"
    )
    published = pl.DataFrame(
        {
            "label": [f"published: {name}" for name, _ in PUBLISHED_PACE],
            "rate": [rate for _, rate in PUBLISHED_PACE],
        }
    )
    order = [*own["label"].to_list(), *published["label"].to_list()]
    y = alt.Y("label:N", sort=order, title=None).axis(
        grid=True, labelLimit=150 if size.narrow else 260
    )
    rates = [*own["rate"].to_list(), *published["rate"].to_list()]
    low, high = 0.8 * max(min(rates), 1e-3), 1.6 * max(rates)
    axis = alt.Axis(title="score calls per working hour", values=log_ticks(low, high))
    x = alt.X("rate:Q", axis=axis).scale(type="log", domain=[low, high], nice=False)
    present = own["solver"].to_list()
    dots = (
        alt.Chart(own)
        .mark_point(filled=True, size=90, opacity=1)
        .encode(x=x, y=y, color=palette.colour(present, None), shape=palette.shape(present, None))
    )
    hollow = alt.Chart(published).mark_point(size=80, color=GREY).encode(x=x, y=y)
    base = alt.Chart(pl.concat([own.drop("solver"), published]))
    words = base.mark_text(align="left", dx=9, fontSize=11, color=HUMAN_COLOUR).encode(
        x=x, y=y, text=alt.Text("rate:Q", format=".3~r")
    )
    width = size.width - (110 if size.narrow else 200)
    return finish(
        alt.layer(hollow, dots, words).properties(
            width=width, height=ROW * len(order), title=title(texts.heading, texts.subtitle, size)
        )
    )
