"""Sections of a report: for each scope what its attempts say together, then each environment."""

from collections.abc import Iterator, Sequence
from pathlib import Path

import polars as pl

from openrebench.analysis.budgets import Estimates
from openrebench.analysis.options import HOUR_S
from openrebench.analysis.table import SHIPPED_TIMES, Attempts
from openrebench.report.figures.curve import Texts
from openrebench.report.figures.steps import steps_figure
from openrebench.report.headline import (
    count_figures,
    environment_panels,
    headline_figures,
    mean_tables,
    summary_tables,
)
from openrebench.report.page import Section, Table
from openrebench.report.public import published_panel
from openrebench.report.render import Figure, draw
from openrebench.report.scope import Scope, mean_of, palette_of
from openrebench.report.theme import Palette


def scope_sections(scope: Scope, out: Path) -> Iterator[Section]:
    """Give the sections of a scope."""
    palette = palette_of(scope)
    mean = mean_of(scope)
    estimates = scope.estimates(mean.environments) if mean.environments else []
    figures = [
        *headline_figures(scope, mean, estimates, palette),
        *_panels(scope, palette),
        *count_figures(scope, palette),
    ]
    yield Section(
        title=scope.title,
        notes=[*mean.notes, *_notes(scope, estimates)],
        figures=[draw(figure, out / "figures") for figure in figures],
        tables=[*mean_tables(scope, mean, estimates), *summary_tables(scope)],
    )
    if scope.own:
        for environment in scope.environments:
            yield _environment_section(scope, environment, palette, out)
    else:
        yield Section(
            title=f"{scope.title}: every attempt",
            tables=[_attempts_table(scope.table, f"{scope.name}-attempts")],
        )


def _panels(scope: Scope, palette: Palette) -> list[Figure]:
    panels = environment_panels(scope, palette)
    return [panels] if panels else []


def _environment_section(scope: Scope, environment: str, palette: Palette, out: Path) -> Section:
    table = scope.table.keep(pl.col("environment") == environment)
    label = f"{environment}@{table.attempts['version'][0]}"
    name = f"{environment}-{scope.name}"
    texts = Texts(f"{name}-steps", f"{label}: score log of each attempt", [scope.units])
    figures = []
    logs = scope.unprepared.keep(pl.col("attempt").is_in(_selected(table).implode()))
    if logs.entries.height:
        figures.append(draw(steps_figure(logs, texts, palette), out / "figures"))
    panel = published_panel(environment, scope.options, out)
    return Section(
        title=f"{label}, {scope.name}",
        notes=_environment_notes(table),
        figures=[*figures, *([panel] if panel else [])],
        tables=[_attempts_table(table, f"{name}-attempts")],
    )


def _selected(table: Attempts) -> pl.Series:
    """Attempts that the options select, also those that don't count: they may share an axis."""
    return table.attempts.filter(~pl.col("left_out").str.starts_with("not "))["attempt"]


def _attempts_table(table: Attempts, name: str) -> Table:
    return Table(
        name=name,
        title="Attempts",
        frame=attempt_rows(table),
        caption="Every attempt, also those that do not count (left out). Score: in-run; official: "
        "after a re-score.",
    )


def attempt_rows(table: Attempts) -> pl.DataFrame:
    """The table of attempts for people: hours, no internal columns."""
    return table.attempts.select(
        *("attempt", "environment", "solver", "ended"),
        (pl.col("budget_s") / HOUR_S).alias("budget_h"),
        (pl.col("working_s") / HOUR_S).alias("worked_h"),
        *("score_calls", "raw", "unit", "score", "official", "flags", "marks", "left_out"),
    )


def _notes(scope: Scope, estimates: Sequence[Estimates]) -> list[str]:
    """What a reader must know of a whole scope."""
    notes = []
    if scope.options.official:
        notes.append("Scores drawn here are official re-scores, not in-run scores.")
    if estimates:
        notes += _without_mean(scope, estimates)
    words = sorted(set(scope.table.attempts["stand_in"].unique().to_list()) - {""})
    if words:
        notes.append(f"Some attempts used, in place of the real thing: {', '.join(words)}.")
    return notes


def _without_mean(scope: Scope, estimates: Sequence[Estimates]) -> list[str]:
    """Name solvers and lengths that have no mean because an environment lacks attempts."""
    if scope.options.present_only:
        return ["Means are over the environments that have attempts; which, the tables say."]
    notes = []
    for group in (found.group for found in estimates):
        for column, length_s in enumerate(group.lengths_s):
            missing = group.missing(column)
            if missing and length_s in group.run_s:
                have = len(group.environments) - len(missing)
                notes.append(
                    f"{group.solver} at {length_s / HOUR_S:.3g} h: no mean, attempts in {have} of "
                    f"{len(group.environments)} environments (none at {', '.join(missing)})."
                )
    return notes


def _environment_notes(table: Attempts) -> list[str]:
    no_scale = pl.col("left_out").str.starts_with("no anchors")
    shipped = pl.col("anchors").str.ends_with(SHIPPED_TIMES)
    notes = []
    for which, what in (
        (no_scale, "have raw scores only: their device has no anchors"),
        (shipped, "are normalised by times of another machine of the same name"),
    ):
        rows = table.attempts.filter(which)
        if rows.height:
            measure = f"re-bench anchors {rows['environment'][0]} --profile {rows['profile'][0]}"
            notes.append(f"{rows.height} attempts {what}; measure theirs with: {measure}")
    return notes
