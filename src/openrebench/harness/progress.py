"""What `re-bench run` shows while attempts run."""

import contextlib
import sys
import threading
from collections.abc import Iterator

from rich.console import Console
from rich.live import Live
from rich.table import Table
from rich.text import Text

from openrebench.core.duration import format_duration
from openrebench.harness import live
from openrebench.harness.live import LiveAttempt
from openrebench.harness.scorer import counting

REFRESH_S = 0.5


@contextlib.contextmanager
def shown_progress() -> Iterator[None]:
    """Show the running attempts on standard error, if a person can see it."""
    if not sys.stderr.isatty():
        yield
        return
    done = threading.Event()
    thread = threading.Thread(target=_show, args=(done,), name="progress", daemon=True)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()


def _show(done: threading.Event) -> None:
    with Live(console=Console(stderr=True), auto_refresh=False, transient=True) as shown:
        while not done.wait(REFRESH_S):
            shown.update(progress_table(live.all_open()), refresh=True)


def progress_table(attempts: list[LiveAttempt]) -> Table:
    """Draw one row for each attempt: best score so far, score calls, time left, use of models."""
    table = Table(box=None, header_style="bold")
    for heading in ("attempt", "best score", "score calls", "time left", "tokens", "money"):
        table.add_column(heading)
    for attempt in attempts:
        entries, accounts = attempt.attempt.log.entries, attempt.book.accounts()
        entry, value = counting(attempt)
        best = "none yet" if entry is None else f"{value:.3g} ({entry.raw} {entry.unit})"
        left_s = attempt.clock.left_s
        left = "no limit" if left_s is None else format_duration(round(left_s))
        tokens = f"{accounts.input_tokens + accounts.output_tokens:,}"
        money = "unknown" if accounts.cost_usd is None else f"{accounts.cost_usd:.2f} USD"
        cells = (attempt.attempt.record.id, best, str(len(entries)), left, tokens, money)
        table.add_row(*map(Text, cells))
    return table
