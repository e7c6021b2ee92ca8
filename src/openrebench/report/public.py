"""The section of what others published."""

from pathlib import Path

import polars as pl

from openrebench.analysis.budgets import allocation_frame, estimated
from openrebench.analysis.facts import published_results
from openrebench.analysis.groups import grouped
from openrebench.analysis.marks import prepared
from openrebench.analysis.options import Options
from openrebench.analysis.suites import find_suite
from openrebench.analysis.table import Attempts
from openrebench.report.figures.curve import curve_figure
from openrebench.report.figures.published import published_figure
from openrebench.report.page import Section, Table
from openrebench.report.published_points import (
    SOURCES,
    human_table,
    published_points,
    published_title,
)
from openrebench.report.render import Drawn, draw

NOTES = (
    "Published, full size: not comparable with attempts at the profiles small and gpu, and not "
    "with full until a bridge test has passed.",
    "No human line is drawn below 8 h: human score logs were never released. The paper's own "
    "comparisons below 8 h are quoted in the table of published results.",
)


def human_frame(environments: tuple[str, ...], options: Options) -> pl.DataFrame:
    """Human score@k from the public attempts that count."""
    table = prepared(human_table(), options_for_public(options))
    groups = grouped(table, environments, options)
    return allocation_frame(estimated(groups[0], options))


def options_for_public(options: Options) -> Options:
    """The public rows have no further columns to select by and no re-scored results."""
    return Options(
        estimator=options.estimator,
        resamples=options.resamples,
        seed=options.seed,
        resample_environments=options.resample_environments,
        max_hours=options.max_hours,
        max_score=options.max_score,
        keep_marked=options.keep_marked,
    )


def public_section(options: Options, out: Path) -> Section:
    """Human curve over all seven environments, published means, and the full list."""
    suite = find_suite("all")
    humans = human_frame(suite.environments, options)
    marked = prepared(human_table(), options_for_public(options))
    curve = curve_figure(
        humans,
        "published-human-curve",
        "Human experts, best of k attempts of 8 hours",
        [f"published, full size: mean over {suite.title}", _rows_note(marked)],
    )
    means = published_figure(
        published_points("", humans), "published-means", "means over environments", SOURCES
    )
    return Section(
        title="Published results, full size",
        notes=NOTES,
        figures=[draw(figure, out / "figures") for figure in (curve, means)],
        tables=[
            Table(
                name="published-results",
                title="Published results",
                frame=published_results().select(
                    "date",
                    "model",
                    "tasks",
                    "score_text",
                    "scale",
                    "budget",
                    "scaffold",
                    "status",
                    "source",
                    "note",
                ),
                caption="Numbers on another scale than the reference solution's are listed here "
                "and drawn nowhere.",
            )
        ],
    )


def _rows_note(table: Attempts) -> str:
    left = len(table) - table.counted.height
    return f"{table.counted.height} public attempts; {left} over time or implausible left out"


def published_panel(environment: str, options: Options, out: Path) -> Drawn | None:
    """The published points of one environment; None if it is none of the seven."""
    name = published_title(environment)
    if not name:
        return None
    points = published_points(environment, human_frame((environment,), options))
    return draw(
        published_figure(points, f"{environment}-published", name, SOURCES), out / "figures"
    )
