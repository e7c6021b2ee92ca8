"""Turn a figure into files, and into something that a page can hold without a request."""

import base64
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl
import vl_convert

from openrebench.report.theme import NARROW, WIDE, Size

VEGA_LITE = "6.4"
PNG_SCALE = 2.0


@dataclass(frozen=True, kw_only=True)
class Figure:
    """A figure, what to say about it, and the table behind it.

    Args:
        name: Stem of its files.
        title: Heading in the page.
        caption: What to know before reading it.
        draw: Makes the Altair chart for a size.
        table: What is drawn, with n.
    """

    name: str
    title: str
    caption: str
    draw: Callable[[Size], Any]
    table: pl.DataFrame


@dataclass(frozen=True, kw_only=True)
class Drawn:
    """A figure as images that stand on their own."""

    figure: Figure
    wide: str
    narrow: str


def draw(figure: Figure, folder: Path) -> Drawn:
    """Write a figure as SVG, PNG and PDF, and give both widths as data addresses."""
    folder.mkdir(parents=True, exist_ok=True)
    spec = figure.draw(WIDE).to_dict()
    svg = _svg(spec)
    stem = folder / figure.name
    stem.with_suffix(".svg").write_text(svg, encoding="utf-8")
    png = vl_convert.vegalite_to_png(spec, vl_version=VEGA_LITE, scale=PNG_SCALE)
    stem.with_suffix(".png").write_bytes(png)
    stem.with_suffix(".pdf").write_bytes(vl_convert.vegalite_to_pdf(spec, vl_version=VEGA_LITE))
    narrow = _svg(figure.draw(NARROW).to_dict())
    return Drawn(figure=figure, wide=_address(svg), narrow=_address(narrow))


def _svg(spec: dict[str, Any]) -> str:
    svg: str = vl_convert.vegalite_to_svg(spec, vl_version=VEGA_LITE)
    return svg


def _address(svg: str) -> str:
    """An image apart from the page: its ids and styles can't meet those of another figure."""
    return "data:image/svg+xml;base64," + base64.b64encode(svg.encode()).decode()
