"""Turn a figure into files, and into something that a page can hold without a request."""

import base64
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl
import vl_convert

from openrebench.report.theme import NARROW, WIDE, Size

VEGA_LITE = "6.4"
PNG_SCALE = 2.0
SVG_IDS = re.compile(r"(?<=[\"#])(gradient_|clip)(\d+)(?=[\")])")
PDF_RESOURCES = re.compile(rb"(?:[ \t]+/[A-Za-z]+\d+ \d+ 0 R\n)+")


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
    svg = _svg(figure.draw(WIDE))
    stem = folder / figure.name
    stem.with_suffix(".svg").write_text(svg, encoding="utf-8")
    stem.with_suffix(".png").write_bytes(vl_convert.svg_to_png(svg, scale=PNG_SCALE))
    stem.with_suffix(".pdf").write_bytes(in_order(vl_convert.svg_to_pdf(svg)))
    return Drawn(figure=figure, wide=_address(svg), narrow=_address(_svg(figure.draw(NARROW))))


def in_order(pdf: bytes) -> bytes:
    r"""Sort the resource lists of a PDF, which the converter writes in a random order.

    Lengths and so the offsets of objects stay as they are.

    Example:
        >>> in_order(b" /x2 4 0 R\n /x1 3 0 R\n")
        b' /x1 3 0 R\n /x2 4 0 R\n'
    """
    return PDF_RESOURCES.sub(lambda found: b"".join(sorted(found[0].splitlines(True))), pdf)


def _svg(chart: Any) -> str:  # noqa: ANN401 - altair's own chart union
    svg: str = vl_convert.vegalite_to_svg(chart.to_dict(validate=False), vl_version=VEGA_LITE)
    return renumbered(svg)


def renumbered(svg: str) -> str:
    """Number the ids of gradients and clips from 0: the converter counts on over its life.

    Example:
        >>> renumbered('<i id="gradient_7"/><i fill="url(#gradient_7)"/><i id="gradient_9"/>')
        '<i id="gradient_0"/><i fill="url(#gradient_0)"/><i id="gradient_1"/>'
    """
    seen = list(dict.fromkeys(SVG_IDS.findall(svg)))
    return SVG_IDS.sub(lambda found: f"{found[1]}{seen.index(found.groups())}", svg)


def _address(svg: str) -> str:
    """An image apart from the page: its ids and styles can't meet those of another figure."""
    return "data:image/svg+xml;base64," + base64.b64encode(svg.encode()).decode()
