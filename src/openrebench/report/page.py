"""The page: sections of figures and tables, filled into one HTML file."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import polars as pl
from jinja2 import Environment, PackageLoader, StrictUndefined

from openrebench.report.render import Drawn

MAX_ROWS, OPEN_ROWS, LONG = 400, 20, 40


@dataclass(frozen=True, kw_only=True)
class Table:
    """A table of the page, and a file.

    Args:
        name: Stem of its files.
        title: Heading.
        frame: What it holds.
        caption: What to know before reading it.
    """

    name: str
    title: str
    frame: pl.DataFrame
    caption: str = ""


@dataclass(frozen=True, kw_only=True)
class Section:
    """A part of the page about attempts that may stand together."""

    title: str
    notes: Sequence[str] = ()
    figures: Sequence[Drawn] = ()
    tables: Sequence[Table] = field(default_factory=tuple)


def render(
    *, title: str, lead: Sequence[str], sections: Sequence[Section], footer: Sequence[str]
) -> str:
    """Fill the page."""
    environment = Environment(
        loader=PackageLoader("openrebench.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"cell": cell, "kind": kind}
    template = environment.get_template("report.html.j2")
    return template.render(
        title=title,
        lead=lead,
        sections=sections,
        footer=footer,
        max_rows=MAX_ROWS,
        open_rows=OPEN_ROWS,
    )


def kind(value: object) -> str:
    """Give the class of a table cell: numbers to the right, long texts on several lines.

    Example:
        >>> kind(1.0), kind("short"), kind(True), kind("long" * 20)
        ('num', '', '', 'long')
    """
    if isinstance(value, int | float) and not isinstance(value, bool):
        return "num"
    return "long" if isinstance(value, str) and len(value) > LONG else ""


def cell(value: object) -> str:
    """Write a value into a table: three decimals, nothing for null or NaN.

    Example:
        >>> cell(0.12345), cell(None), cell(2.0), cell(True), cell(float("inf"))
        ('0.123', '', '2', 'yes', 'inf')
    """
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return number(value)
    return str(value)


def number(value: float) -> str:
    """Write a number with three decimals, or none if it is whole.

    Example:
        >>> number(0.0004), number(1808.0), number(float("nan"))
        ('0.0004', '1808', '')
    """
    if math.isnan(value):
        return ""
    if math.isinf(value) or value == round(value):
        return f"{value:.0f}"
    return f"{value:.3f}" if abs(value) >= 0.0005 else f"{value:.1g}"
