"""Sections of one's own attempts: one for each profile, with a panel for each environment."""

from collections.abc import Iterator
from pathlib import Path

import polars as pl

from openrebench.analysis.budgets import estimated
from openrebench.analysis.curves import curve, curve_frame
from openrebench.analysis.groups import grouped
from openrebench.analysis.marks import require_one_class
from openrebench.analysis.options import HOUR_S, Options
from openrebench.analysis.table import Attempts
from openrebench.report.figures.curve import curve_figure
from openrebench.report.figures.steps import steps_figure
from openrebench.report.page import Section, Table
from openrebench.report.public import published_panel
from openrebench.report.render import Figure, draw

UNITS = {
    "small": "OpenRE-small v1 - not RE-Bench",
    "gpu": "OpenRE-gpu v1 - not RE-Bench",
    "full": "full size, own measurements - not comparable with published results",
}


def own_sections(table: Attempts, options: Options, out: Path) -> Iterator[Section]:
    """Give a section for each profile and environment of one's own attempts."""
    own = table.keep(pl.col("source") == "own")
    for profile in sorted(own.attempts["profile"].unique().to_list()):
        at_profile = own.keep(pl.col("profile") == profile)
        for environment in sorted(at_profile.attempts["environment"].unique().to_list()):
            require_one_class(at_profile, environment)
            part = at_profile.keep(pl.col("environment") == environment)
            yield _environment_section(part, profile, environment, options, out)


def _environment_section(
    table: Attempts, profile: str, environment: str, options: Options, out: Path
) -> Section:
    units = UNITS.get(profile, f"profile {profile} - not RE-Bench")
    label = f"{environment}@{table.attempts['version'][0]}/{profile}"
    name = f"{environment}-{profile}"
    figures = [
        draw(figure, out / "figures")
        for figure in _figures(table, name, environment, f"{label}; {units}", options)
    ]
    panel = published_panel(environment, options, out)
    return Section(
        title=f"{environment}, {profile}: {units}",
        notes=_notes(table),
        figures=[*figures, *([panel] if panel else [])],
        tables=[
            Table(
                name=f"{name}-attempts",
                title="Attempts",
                frame=attempt_rows(table),
                caption="Every attempt, also those that do not count (left out).",
            )
        ],
    )


def _figures(
    table: Attempts, name: str, environment: str, label: str, options: Options
) -> Iterator[Figure]:
    heading = f"{environment}: score log of each attempt"
    yield steps_figure(table, f"{name}-steps", heading, label)
    found = [
        estimated(group, options)
        for group in grouped(table, (environment,), options)
        if len(group.lengths_s)
    ]
    curves = [curve_frame(estimates, curve(estimates)) for estimates in found]
    if not curves:
        return
    yield curve_figure(
        pl.concat(curves), f"{name}-curve", f"{environment}: score against time budget", [label]
    )


def _notes(table: Attempts) -> list[str]:
    notes = []
    raw_only = table.attempts.filter(pl.col("left_out").str.starts_with("no anchors"))
    if raw_only.height:
        environment, profile = raw_only["environment"][0], raw_only["profile"][0]
        notes.append(
            f"{raw_only.height} attempts have raw scores only: their device has no anchors; "
            f"measure them there with: re-bench anchors {environment} --profile {profile}"
        )
    words = sorted(set(table.attempts["stand_in"].unique().to_list()) - {""})
    if words:
        notes.append(f"Simulated: these attempts used {', '.join(words)} in place of the real one.")
    return notes


def attempt_rows(table: Attempts) -> pl.DataFrame:
    """The table of attempts for people: hours and minutes, no internal columns."""
    return table.attempts.select(
        "attempt",
        "solver",
        "ended",
        (pl.col("budget_s") / HOUR_S).alias("budget_h"),
        (pl.col("working_s") / HOUR_S).alias("worked_h"),
        "score_calls",
        "raw",
        "unit",
        "score",
        "official",
        "flags",
        "marks",
        "left_out",
    )
