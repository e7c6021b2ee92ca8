"""The commands of `re-bench` for people who attempt environments, and for those who watch."""

import contextlib
import os
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import click

from openrebench.console import needs_extra, number, print_json
from openrebench.errors import ReBenchError

if TYPE_CHECKING:
    from openrebench.core.attempt import Attempt
    from openrebench.isolation.local import LocalRunner

PERSON = r"[A-Za-z0-9][A-Za-z0-9._-]{0,39}"
attempt_argument = click.argument(
    "attempt", type=click.Path(path_type=Path, exists=True, file_okay=False)
)
isolation_option = click.option(
    "--isolation", help="Isolation mode; the strongest that works here if left out."
)


@click.group()
def human() -> None:
    """Attempt an environment yourself, under the conditions of an agent."""


@human.command("start")
@click.argument("environment")
@click.option("--time-limit", default="8h", show_default=True, help="Budget: 90s, 30m, 8h.")
@click.option("--profile", default="small", show_default=True, help="Size to use.")
@click.option(
    "-o",
    "--attempts-dir",
    type=click.Path(path_type=Path),
    default=Path("attempts"),
    show_default=True,
    help="Folder of attempts.",
)
@click.option("--record", is_flag=True, help="Record what the terminal shows (asciicast).")
@click.option("--person", default="human", show_default=True, help="A pseudonym for the record.")
@click.option("--expert", type=click.BOOL, help="Whether the person is an expert: yes or no.")
@isolation_option
def start(
    environment: str,
    time_limit: str,
    profile: str,
    attempts_dir: Path,
    record: bool,
    person: str,
    expert: bool | None,
    isolation: str | None,
) -> None:
    """Begin an attempt: a shell in an agent's sandbox, with its score tool, log and clock.

    In the shell: score, score_log, note, time_left, pause, submit, instructions.
    """
    from openrebench.core.catalog import load_environment
    from openrebench.core.duration import parse_duration
    from openrebench.human.seat import Person, start_attempt

    found, budget_s = load_environment(environment), parse_duration(time_limit)
    who = Person(name=_pseudonym(person), expert=expert)
    label = found.card.label(profile)
    _sit_down(
        isolation,
        f"preparing {label} and scoring the starting solution ...",
        lambda runner: start_attempt(
            found,
            runner,
            profile=profile,
            budget_s=budget_s,
            root=attempts_dir,
            person=who,
            record=record,
        ),
    )


@human.command("resume")
@attempt_argument
@isolation_option
def resume(attempt: Path, isolation: str | None) -> None:
    """Go on with an attempt that was paused and left, or whose runner died."""
    from openrebench.human.seat import reopen_attempt

    _sit_down(isolation, "", lambda runner: reopen_attempt(attempt, runner))


@human.command("status")
@attempt_argument
@click.option("--json", "as_json", is_flag=True, help="Print JSON with stable keys.")
def status(attempt: Path, as_json: bool) -> None:
    """Say how an attempt stands, and list its pauses; works while it runs."""
    from openrebench.watch import row_of

    row = row_of(attempt)
    if as_json:
        print_json(row)
        return
    used, left = (_clock(row[name]) for name in ("used_s", "left_s"))
    click.echo(f"{row['attempt']} {row['state']} {row['note']}".rstrip())
    click.echo(f"best {row['best']}, normalised {number(row['normalised']) or 'none'}")
    click.echo(f"{row['score_calls']} score calls; {used} used, {left} left")
    for pause in row["pauses"]:
        click.echo(f"{pause['event']} after {_clock(pause['used_s'])}: {pause['reason']}")


def _clock(seconds: object) -> str:
    from openrebench.human.desk import clock_face

    return clock_face(float(str(seconds))) if seconds is not None else "unknown"


def _sit_down(isolation: str | None, first: str, make: "Callable[[LocalRunner], Attempt]") -> None:
    """Open an attempt, let the person work, and say how it stands then."""
    from openrebench.core.reading import summary
    from openrebench.human.seat import seat
    from openrebench.human.terminal import Terminal
    from openrebench.isolation.local import LocalRunner

    terminal = Terminal()  # before anything is made: there may be none
    with LocalRunner.named(isolation) as runner:
        if first:
            click.echo(first)
        attempt = make(runner)
        ended = seat(attempt, terminal, click.echo, lambda: click.pause(""))
    click.echo(f"attempt {attempt.folder}")
    if ended is None:
        click.echo(f"not ended; go on with: re-bench human resume {attempt.folder}")
        return
    row = summary(attempt.folder)
    click.echo(f"ended ({ended}): {row['best']}, normalised {number(row['normalised']) or 'none'}")
    if row["note"]:
        click.echo(f"note: {row['note']}")


def _pseudonym(name: str) -> str:
    if re.fullmatch(PERSON, name) is None:
        raise ReBenchError(
            f"--person '{name}': use up to 40 letters, digits, dots, dashes; a pseudonym, no name"
        )
    return name


@click.command()
@click.argument("folder", type=click.Path(path_type=Path), default=Path("attempts"))
@click.option("--once", is_flag=True, help="Print one frame.")
@click.option("--json", "as_json", is_flag=True, help="Print one frame as JSON with stable keys.")
@click.option("--transcripts", is_flag=True, help="Open the transcripts in Inspect's viewer.")
def watch(folder: Path, once: bool, as_json: bool, transcripts: bool) -> None:
    """Watch the attempts in FOLDER, running and finished, from any terminal; Ctrl-C ends it.

    Reads only the attempts' folders, so it also works beside a runner, over ssh and after a crash.
    """
    if transcripts:
        _view_transcripts(folder)
    elif as_json:
        from openrebench.watch import Reader

        print_json(Reader().rows(folder))
    else:
        from rich.console import Console

        from openrebench.watch_table import show

        with contextlib.suppress(KeyboardInterrupt):
            show(folder, Console(), once=once)


def _view_transcripts(folder: Path) -> None:
    """Become Inspect's viewer, which serves a page on this machine only."""
    with needs_extra("agents"):
        import openrebench.harness.transcripts  # noqa: F401 - needs what the viewer needs

    command = [sys.executable, "-m", "inspect_ai", "view", "start", "--log-dir", str(folder)]
    click.echo(" ".join(["inspect", *command[3:]]))
    os.execv(sys.executable, command)  # noqa: S606
