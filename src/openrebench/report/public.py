"""The section of what others published."""

from dataclasses import replace
from pathlib import Path

import polars as pl

from openrebench.analysis.budgets import Estimates, allocation_frame, estimated
from openrebench.analysis.comparisons import PAPER, SOURCE
from openrebench.analysis.curves import curve, curve_frame
from openrebench.analysis.facts import published_results
from openrebench.analysis.groups import grouped
from openrebench.analysis.marks import prepared
from openrebench.analysis.options import Options
from openrebench.analysis.suites import find_suite
from openrebench.analysis.table import Attempts
from openrebench.report.figures.curve import Texts, curve_figure
from openrebench.report.figures.panels import panels_figure
from openrebench.report.figures.published import by_date_figure, published_figure
from openrebench.report.page import Section, Table
from openrebench.report.published_points import (
    SOURCES,
    by_date,
    human_table,
    published_points,
    published_title,
)
from openrebench.report.render import Drawn, Figure, draw
from openrebench.report.theme import Palette

NOTES = (
    "Published, full size: not comparable with attempts at the profiles small and gpu, and not "
    "with full until a bridge test has passed.",
    "No human line is drawn below 8 h: human score logs were never released, so the public rows "
    "can't support the paper's comparison at 2 h.",
)
UNITS = "published, full size: not comparable with own attempts"
HUMANS = Palette.of([("human experts", "human")])


def options_for_public(options: Options) -> Options:
    """The public rows have no further columns to select by and no re-scored results."""
    return replace(options, where={}, official=False)


def human_estimates(environments: tuple[str, ...], options: Options) -> Estimates:
    """Human score@k from the public attempts that count."""
    chosen = options_for_public(options)
    return estimated(grouped(humans(options), environments, chosen)[0], chosen)


def humans(options: Options) -> Attempts:
    """Public human attempts, the doubtful ones marked."""
    return prepared(human_table(), options_for_public(options))


def public_section(options: Options, out: Path) -> Section:
    """Human curve over all seven environments, published means, and the full list."""
    figures = [draw(figure, out / "figures") for figure in _figures(options)]
    return Section(
        title="Published results, full size", notes=NOTES, figures=figures, tables=_tables()
    )


def _figures(options: Options) -> list[Figure]:
    suite = find_suite("all")
    found = human_estimates(suite.environments, options)
    rows = _rows_note(humans(options))
    curves = Texts(
        "published-human-curve",
        "Human experts: best of k attempts of 8 hours",
        [f"{UNITS}; mean over {suite.title}", rows],
    )
    dates = Texts("published-by-date", "Published means by date", [UNITS])
    means = published_points("", humans(options), allocation_frame(found))
    return [
        curve_figure(curve_frame(found, curve(found)), curves, HUMANS),
        _panels(options),
        published_figure(means, "published-means", "Means over several environments", SOURCES),
        by_date_figure(by_date(), dates),
    ]


def _panels(options: Options) -> Figure:
    frames = []
    for name in find_suite("all").environments:
        found = human_estimates((name,), options)
        frame = curve_frame(found, curve(found))
        frames.append(frame.with_columns(environment=pl.lit(published_title(name))))
    texts = Texts("published-human-environments", "Human experts by environment", [UNITS])
    return panels_figure(pl.concat(frames), texts, HUMANS)


def _tables() -> list[Table]:
    statements = pl.DataFrame(
        [
            {"total budget (h)": s.budget_h, "the paper says": s.says, "source": SOURCE}
            for s in PAPER
        ]
    )
    results = published_results().select(
        *("date", "model", "tasks", "score_text", "scale", "budget", "scaffold"),
        *("status", "confidence", "source", "note"),
    )
    return [
        Table(
            name="paper-statements",
            title="What the paper says of humans and agents",
            frame=statements,
            caption="Quoted, not reproduced.",
        ),
        Table(
            name="published-results",
            title="Published results",
            frame=results,
            caption="Numbers on another scale than the reference solution's are listed here and "
            "drawn nowhere.",
        ),
    ]


def _rows_note(table: Attempts) -> str:
    left = len(table) - table.counted.height
    return f"{table.counted.height} public attempts; {left} over time or implausible left out"


def published_panel(environment: str, options: Options, out: Path) -> Drawn | None:
    """The published points of one environment; None if it is none of the seven."""
    name = published_title(environment)
    if not name:
        return None
    best = allocation_frame(human_estimates((environment,), options))
    points = published_points(environment, humans(options), best)
    figure = published_figure(points, f"{environment}-published", name, SOURCES)
    return draw(figure, out / "figures")
