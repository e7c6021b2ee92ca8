"""The frame that `re-bench watch` shows: one line for each attempt."""

import time
from datetime import UTC, datetime
from pathlib import Path

from rich.console import Console, Group
from rich.live import Live
from rich.table import Table
from rich.text import Text

from openrebench.human.desk import clock_face
from openrebench.watch import AT_WORK, AttemptRow, Reader

REFRESH_S = 2.0
FRAME_LINES = 5  # of a frame that are no attempts
STYLES = {
    "running": "green",
    "paused": "yellow",
    "left": "yellow",
    "silent": "bold red",
    "dead": "bold red",
    "damaged": "bold red",
    "error": "red",
}
UNFINISHED = (*AT_WORK, "left", "dead", "interrupted")
HEADINGS = ("attempt", "solver", "state", "best", "norm.", "calls", "left", "cost", "activity")
NAMES, NUMBERS = ("attempt", "solver"), ("norm.", "calls", "left", "cost")
LEAST_OF_NAMES, MOST_OF_OTHERS = 8, 20


def show(root: Path, console: Console, *, once: bool) -> None:
    """Show the attempts below a folder, again and again unless once.

    Args:
        root: Folder of attempts, which need not exist yet.
        console: Where to.
        once: Print one frame and return.
    """
    reader = Reader()
    if once:
        console.print(frame(root, reader.rows(root)))
        return
    with Live(console=console, screen=console.is_terminal, auto_refresh=False) as live:
        while True:
            most = max(1, console.height - FRAME_LINES)
            live.update(frame(root, reader.rows(root), most), refresh=True)
            time.sleep(REFRESH_S)


def frame(root: Path, rows: list[AttemptRow], most: int | None = None) -> Group:
    """Draw one frame.

    Args:
        root: Folder of attempts, for the heading.
        rows: All attempts, those first that matter most.
        most: Lines that there is room for; all if None.
    """
    shown = rows[:most]
    at_work = sum(row["state"] in AT_WORK for row in rows)
    heading = f"{len(rows)} attempts, {at_work} at work, {datetime.now(UTC):%H:%M:%S} UTC: {root}"
    parts: list[Text | Table] = [_line(heading, "bold"), _table(shown), *_notes(shown)]
    if len(shown) < len(rows):
        parts.append(_line(f"... and {len(rows) - len(shown)} more", "dim"))
    parts.append(_line(f"transcripts: re-bench watch --transcripts {root}", "dim"))
    return Group(*parts)


def _line(text: str, style: str) -> Text:
    return Text(text, style=style, no_wrap=True, overflow="ellipsis")


def _table(rows: list[AttemptRow]) -> Table:
    """Lay out the rows; where there is little room, names give way and numbers don't."""
    table = Table(box=None, header_style="bold", pad_edge=False)
    lines = [_cells(row) for row in rows]
    for i, heading in enumerate(HEADINGS):
        widest = max([len(heading), *(len(line[i]) for line in lines)])
        table.add_column(
            heading,
            justify="right" if heading in NUMBERS else "left",
            no_wrap=heading not in NAMES,  # what may not wrap does not shrink either
            overflow="ellipsis",
            min_width=min(widest, LEAST_OF_NAMES if heading in NAMES else MOST_OF_OTHERS),
        )
    for line in lines:
        table.add_row(*line)
    return table


def _notes(rows: list[AttemptRow]) -> list[Text]:
    """Say below the table what is wrong with damaged attempts."""
    return [Text(f"{row['attempt']}: {row['note']}", style="red") for row in rows if row["note"]]


def _cells(row: AttemptRow) -> list[Text]:
    value, left_s = row["normalised"], row["left_s"]
    state = Text(row["state"], style=STYLES.get(row["state"], ""))
    texts = [
        _short(row["attempt"]),
        row["solver"].replace(" ", ":"),
        "",
        row["best"],
        "" if value is None else f"{value:.3f}",
        str(row["score_calls"]),
        clock_face(left_s) if left_s is not None and row["state"] in UNFINISHED else "",
        _money(row),
        _ago(row["last_activity"]),
    ]
    return [state if i == 2 else Text(text) for i, text in enumerate(texts)]


def _short(name: str) -> str:
    """Leave out of an attempt's name when it began; the rest still tells which it is."""
    environment, _, rest = name.partition("-")
    return f"{environment}-{rest.rpartition('-')[2]}"


def _money(row: AttemptRow) -> str:
    if row["cost_usd"] is None:
        return ""
    return f"{'' if row['cost_is_known'] else '> '}${row['cost_usd']:.2f}"


def _ago(moment: str | None) -> str:
    if moment is None:
        return ""
    seconds = (datetime.now(UTC) - datetime.fromisoformat(moment)).total_seconds()
    return f"{_rough(max(0.0, seconds))} ago"


def _rough(seconds: float) -> str:
    for unit, name in ((86400, "d"), (3600, "h"), (60, "m")):
        if seconds >= unit:
            return f"{int(seconds // unit)}{name}"
    return f"{int(seconds)}s"
