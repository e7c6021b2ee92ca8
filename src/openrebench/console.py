"""What the command line prints: tables, JSON, progress. Rich is imported only when used."""

import contextlib
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from openrebench.errors import ReBenchError

if TYPE_CHECKING:
    from openrebench.core.result import ScoreResult


@contextlib.contextmanager
def needs_extra(extra: str) -> Iterator[None]:
    """Turn a missing package into one sentence that says how to get it."""
    try:
        yield
    except ModuleNotFoundError as error:
        raise ReBenchError(
            f"this needs the package '{error.name}'; "
            f"install it with: pip install 'openrebench[{extra}]'"
        ) from error


def noted_in_transcript(attempt: Path) -> list[str]:
    """Hashes of log entries in an attempt's transcript; none where it has no transcript."""
    transcript = attempt / "transcript.eval"
    if not transcript.exists():
        return []
    with needs_extra("agents"):
        from openrebench.harness.transcripts import anchors_in
    return anchors_in(transcript)


@contextlib.contextmanager
def progress_bar(label: str, total: int | None = None) -> Iterator[Callable[[], None]]:
    """Show progress on standard error while something takes long."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task(label, total=total)
        yield lambda: progress.advance(task)


def print_score(result: "ScoreResult", value: float | None, note: str) -> None:
    """Print a score for a person; the note says why there is no value, or what it rests on."""
    click.echo(f"{result.outcome}: {f'{result.reason}: ' if result.reason else ''}{result.message}")
    if result.raw is not None:
        shown = (
            f"no normalised score: {note}"
            if value is None
            else f"normalised {number(value)}" + (f" ({note})" if note else "")
        )
        click.echo(f"raw {result.raw} {result.unit}, {shown}")
    for flag in result.flags:
        click.echo(f"flag: {flag}")
    click.echo(f"isolation {result.isolation}, {result.seconds:.1f} s")


def number(value: float | None) -> str:
    """Write a normalised score; nothing for None."""
    return "" if value is None else f"{value:.3f}"


def print_json(data: object) -> None:
    """Print data as JSON."""
    click.echo(json.dumps(data, indent=1))


def print_table(headings: tuple[str, ...], rows: list[tuple[str, ...]]) -> None:
    """Print rows under headings; long cells fold. Cells are no markup: submissions write some."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, header_style="bold")
    for heading in headings:
        table.add_column(heading, overflow="fold")
    for row in rows:
        table.add_row(*map(Text, row))
    Console().print(table)
