"""Build a report: read attempts, analyse them, write one HTML file with figures and tables."""

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

import polars as pl

from openrebench import __version__
from openrebench.analysis.folders import read_tables
from openrebench.analysis.marks import prepared
from openrebench.analysis.options import Options
from openrebench.analysis.table import Attempts
from openrebench.report.page import Section, Table, render
from openrebench.report.public import public_section
from openrebench.report.scope import scopes
from openrebench.report.sections import scope_sections

TITLE = "OpenRE-Bench report"


def build_report(folders: Sequence[Path], out: Path, *, options: Options | None = None) -> Path:
    """Write `index.html`, `figures/` and `tables/` into a folder.

    Args:
        folders: Folders of attempts, or of imported tables. With none the report shows what is
            published: human attempts and results of others.
        out: Folder to write into; made if missing.
        options: Choices of the analysis; printed in the footer.

    Returns:
        Path of `index.html`.

    Raises:
        TableError: A folder holds no attempt, or a table is broken.
        NotComparable: Attempts differ in what a curve must have in common.
        AttemptError: An attempt is damaged.
    """
    options = options or Options()
    unprepared = read_tables(folders)
    table = prepared(unprepared, options)
    out.mkdir(parents=True, exist_ok=True)
    parts = [scope_sections(scope, out) for scope in scopes(table, unprepared, options)]
    sections = [*(section for part in parts for section in part), public_section(options, out)]
    _write_tables(sections, out / "tables")
    page = render(
        title=TITLE,
        lead=_lead(table, options),
        sections=sections,
        footer=_footer(unprepared, options),
    )
    path = out / "index.html"
    path.write_text(page, encoding="utf-8")
    return path


def _lead(table: Attempts, options: Options) -> list[str]:
    if len(table) == 0:
        return ["No attempt of your own yet: what follows is what others published."]
    attempts = table.attempts
    which = "official re-scores" if options.official else "in-run scores"
    lines = [
        f"{len(table)} attempts at {attempts['environment'].n_unique()} environments by "
        f"{attempts['solver'].n_unique()} solvers; {table.counted.height} count. "
        f"Scores are {which}.",
    ]
    for said, column, rows in (
        ("Left out of every score, but in the tables", "left_out", attempts),
        ("Marked, and counted", "marks", table.counted),
        ("Flagged", "flags", attempts),
    ):
        found = rows.filter(pl.col(column) != "").group_by(column).len().sort(column).rows()
        if found:
            lines.append(f"{said}: {', '.join(f'{count} {reason}' for reason, count in found)}.")
    return lines


def _footer(table: Attempts, options: Options) -> list[str]:
    settings = ", ".join(f"{name}={value}" for name, value in asdict(options).items())
    return [
        "OpenRE-Bench is not affiliated with METR. RE-Bench is METR's benchmark; results at the "
        "profiles small and gpu are in units of this project and are no RE-Bench scores.",
        f"Options: {settings}.",
        f"Input sha256 {table.sha256()}; openrebench {__version__}.",
    ]


def _write_tables(sections: Sequence[Section], folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for section in sections:
        figures = [
            Table(name=d.figure.name, title=d.figure.title, frame=d.figure.table)
            for d in section.figures
        ]
        for table in [*figures, *section.tables]:
            table.frame.write_csv(folder / f"{table.name}.csv")
            table.frame.write_parquet(folder / f"{table.name}.parquet")
