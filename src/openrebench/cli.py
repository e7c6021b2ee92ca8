"""The command `re-bench`: parses arguments, calls the library, prints what it returns.

Everything heavy is imported inside the commands, so that `re-bench --help` stays quick and
works where Inspect or torch are not installed.
"""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

import click

from openrebench import __version__
from openrebench.cli_human import human, watch
from openrebench.cli_more import assets, export_tables, import_tables, report, review, serve
from openrebench.cli_run import run
from openrebench.console import (
    noted_in_transcript,
    number,
    print_json,
    print_score,
    print_table,
    progress_bar,
)
from openrebench.errors import ReBenchError

if TYPE_CHECKING:
    from openrebench.core.result import ScoreResult
    from openrebench.isolation.local import LocalRunner

EXIT_OK, EXIT_USAGE, EXIT_INVALID, EXIT_ERROR = 0, 2, 3, 4

json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON with stable keys.")
profile_option = click.option("--profile", default="small", show_default=True, help="Size to use.")
isolation_option = click.option(
    "--isolation", help="Isolation mode; the strongest that works here if left out."
)
attempts_option = click.option(
    "--attempts-dir",
    type=click.Path(path_type=Path),
    default=Path("attempts"),
    show_default=True,
    help="Folder of attempts.",
)


@click.group(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__, prog_name="re-bench")
def cli() -> None:
    """Score ML research-engineering attempts by agents and humans under equal time budgets.

    First steps: re-bench list, re-bench start prefix_sum DIR, re-bench score DIR,
    re-bench run prefix_sum --agent literal_search --time-limit 2m, re-bench report attempts.
    """


def main() -> NoReturn:
    """Run the command line; a user's mistake is one sentence, never a stack trace."""
    try:
        code = cli.main(standalone_mode=False)
    except click.ClickException as error:
        error.show()
        code = EXIT_USAGE
    except ReBenchError as error:
        click.echo(f"re-bench: {error}", err=True)
        code = error.exit_code
    except (KeyboardInterrupt, click.Abort):
        click.echo("re-bench: interrupted; everything scored so far is kept", err=True)
        code = 130
    sys.exit(code if isinstance(code, int) else EXIT_OK)


@cli.command("list")
@json_option
def list_environments(as_json: bool) -> None:
    """List all environments, and why one can't run here."""
    from openrebench.core.catalog import load_cards, load_environment
    from openrebench.core.reading import availability

    rows = [availability(load_environment(name)) for name in load_cards()]
    if as_json:
        print_json(rows)
        return
    print_table(
        ("environment", "title", "runs here", "does not run here"),
        [
            (
                row["id"],
                row["title"],
                ", ".join(row["available"]),
                "; ".join(f"{name}: {reason}" for name, reason in row["why_not"].items()),
            )
            for row in rows
        ],
    )


@cli.command()
@click.argument("environment")
@profile_option
@json_option
def show(environment: str, profile: str, as_json: bool) -> None:
    """Show an environment's card and the instructions that solvers get."""
    from openrebench.core.catalog import load_environment
    from openrebench.core.workspace import instructions

    found = load_environment(environment)
    text = instructions(found, profile)
    if as_json:
        card = found.card.model_dump(mode="json", exclude={"folder"})
        print_json({"card": card, "instructions": text})
        return
    from rich.console import Console
    from rich.markdown import Markdown

    console = Console(markup=False, emoji=False)
    console.print(f"{found.card.label(profile)}: {found.card.profile(profile).summary}\n")
    console.print(Markdown(text))


@cli.command()
@click.argument("environment")
@click.argument("directory", type=click.Path(path_type=Path))
@profile_option
@isolation_option
@attempts_option
def start(
    environment: str, directory: Path, profile: str, isolation: str | None, attempts_dir: Path
) -> None:
    """Begin an attempt of your own: fill DIRECTORY with the workspace, score the start."""
    from openrebench.core.catalog import load_environment
    from openrebench.core.own_attempt import start_own_attempt

    found = load_environment(environment)
    with _runner(isolation) as runner:
        attempt, entry = start_own_attempt(found, profile, directory, attempts_dir, runner)
    click.echo(f"workspace {directory} is ready; read {directory / 'instructions.md'}")
    click.echo(f"starting solution: {entry.message}")
    click.echo(f"attempt {attempt} began; score it with: re-bench score {directory}")


@cli.command()
@click.argument("directory", type=click.Path(path_type=Path, exists=True, file_okay=False))
@click.option("--env", "environment", help="Environment, where DIRECTORY was not made by `start`.")
@profile_option
@isolation_option
@json_option
def score(
    directory: Path, environment: str | None, profile: str, isolation: str | None, as_json: bool
) -> None:
    """Score the submission in DIRECTORY. Logged if DIRECTORY belongs to an attempt.

    Exit codes: 0 scored, 3 invalid submission, 4 our error.
    """
    from openrebench.core.catalog import load_environment
    from openrebench.core.own_attempt import score_own_attempt
    from openrebench.core.reading import normalised
    from openrebench.core.scoring import score_submission

    with _runner(isolation) as runner:
        result: ScoreResult
        if environment is None:
            result, card, size = score_own_attempt(directory, runner)
        else:
            found = load_environment(environment)
            result = score_submission(found, directory, profile, runner)
            card, size = found.card, profile
    value, note = normalised(card, size, result.raw)
    dumped = result.model_dump(mode="json")
    if environment is None and not card.score.visible:  # an attempt whose solver may not know
        value, note, dumped["raw"] = None, "", None
    if as_json:
        keys = ("outcome", "raw", "unit", "reason", "message", "environment", "seconds", "flags")
        print_json({**{key: dumped[key] for key in keys}, "normalised": value})
    elif dumped["raw"] is None and result.raw is not None:
        click.echo(f"{result.outcome}: {result.message}")
    else:
        print_score(result, value, note)
    sys.exit({"scored": EXIT_OK, "invalid": EXIT_INVALID}.get(result.outcome, EXIT_ERROR))


@cli.command("log")
@click.argument("directory", type=click.Path(path_type=Path, exists=True, file_okay=False))
@json_option
def show_log(directory: Path, as_json: bool) -> None:
    """Show the score log of an attempt: its folder, or a workspace made by `start`."""
    from openrebench.core.attempt import read_attempt
    from openrebench.core.own_attempt import attempt_folder
    from openrebench.core.reading import normalised, read_card_of

    attempt = read_attempt(attempt_folder(directory))
    card = read_card_of(attempt.record)
    rows = []
    hidden = not card.score.visible and attempt.record.ended is None
    for entry in attempt.entries:
        raw = None if hidden else entry.raw
        value, _ = normalised(card, attempt.record.profile, raw, attempt.record.device)
        shown = entry.model_dump(mode="json", exclude={"details"})
        rows.append({**shown, "raw": raw, "normalised": value})
    if as_json:
        print_json(rows)
        return
    print_table(
        ("#", "asked for at", "outcome", "raw", "normalised", "message"),
        [
            (
                str(r["seq"]),
                f"{r['requested_at_s']:.1f} s",
                str(r["outcome"]),
                "" if r["raw"] is None else f"{r['raw']} {r['unit']}",
                number(r["normalised"]),
                f"{r['reason']}: {r['message']}" if r["reason"] else str(r["message"]),
            )
            for r in rows
        ],
    )


@cli.command("rescore")
@click.argument("attempt", type=click.Path(path_type=Path, exists=True, file_okay=False))
@isolation_option
@json_option
def rescore_attempt(attempt: Path, isolation: str | None, as_json: bool) -> None:
    """Score an attempt's best submissions again with fresh secrets: its official score."""
    from openrebench.core.attempt import read_attempt
    from openrebench.core.catalog import load_environment
    from openrebench.core.reading import scale_of
    from openrebench.core.rescoring import rescore

    stored = read_attempt(attempt)
    environment = load_environment(stored.record.environment)
    where = environment.card, stored.record.profile, stored.record.device
    scale, final_scale = scale_of(*where), scale_of(*where, final=True)
    with _runner(isolation) as runner, progress_bar("scoring again") as advance:
        outcome = rescore(
            stored, environment, runner, scale, final_scale=final_scale, on_run=lambda _: advance()
        )
    official = outcome.official_raw
    value = None if official is None else final_scale.normalize(official)
    if as_json:
        print_json({**outcome.model_dump(mode="json"), "normalised": value})
        return
    click.echo(f"official score: {official} {outcome.unit} (normalised {number(value)})")
    for flag in outcome.flags:
        click.echo(f"flag: {flag}")


@cli.command("verify")
@click.argument("attempt", type=click.Path(path_type=Path, exists=True, file_okay=False))
def verify(attempt: Path) -> None:
    """Check an attempt's hash chain, stored submissions and seeds."""
    from openrebench.core.attempt import read_attempt
    from openrebench.core.verifying import verify_attempt

    stored = read_attempt(attempt)
    anchors = noted_in_transcript(attempt)
    problems = verify_attempt(stored, anchors)
    for problem in problems:
        click.echo(problem)
    if problems:
        sys.exit(EXIT_INVALID)
    noted = f", {len(anchors)} of them noted in the transcript" if anchors else ""
    click.echo(f"{len(stored.entries)} entries, all as they were written{noted}")


@cli.command()
@click.argument("environment")
@profile_option
@isolation_option
@json_option
def check(environment: str, profile: str, isolation: str | None, as_json: bool) -> None:
    """Check an environment's contract: start, reference, cheats, staging. No model needed."""
    from openrebench.core.catalog import load_environment
    from openrebench.core.contract import CHECKS, Subject, check_environment
    from openrebench.core.reading import anchors_of

    found = load_environment(environment)
    anchors = anchors_of(found.card, profile)
    with _runner(isolation) as runner, progress_bar("checking", len(CHECKS)) as advance:
        subject = Subject(environment=found, profile=profile, runner=runner, anchors=anchors)
        findings = []
        for finding in check_environment(subject):
            findings.append(finding)
            advance()
    if as_json:
        print_json([finding._asdict() for finding in findings])
    for name, problem in [] if as_json else findings:
        click.echo(f"{'FAIL' if problem else 'ok  '} {name}: {problem or 'holds'}")
    sys.exit(EXIT_OK if all(f.problem is None for f in findings) else EXIT_INVALID)


@cli.command()
@click.argument("environment")
@profile_option
@click.option("--runs", default=6, show_default=True, help="Runs of start and reference.")
@click.option("--if-missing", is_flag=True, help="Do nothing if anchors fit this machine.")
@click.option("--ship", is_flag=True, help="Write into the environment's folder instead.")
@isolation_option
def anchors(
    environment: str, profile: str, runs: int, if_missing: bool, ship: bool, isolation: str | None
) -> None:
    """Measure start and reference on this machine, so that scores can be normalised."""
    from openrebench.core.anchors import local_folder
    from openrebench.core.catalog import load_environment
    from openrebench.core.measuring import measure_anchors
    from openrebench.core.reading import has_anchors

    found = load_environment(environment)
    if if_missing and has_anchors(found.card, profile):
        click.echo(f"{found.card.label(profile)} has anchors that fit this machine")
        return
    with _runner(isolation) as runner, progress_bar("measuring", 2 * runs) as advance:
        measured = measure_anchors(
            found, profile, runner, runs=runs, on_progress=lambda _: advance()
        )
    path = measured.save(found.card.folder / "anchors" if ship else local_folder(found.card))
    scale = measured.scale(found.card)
    click.echo(
        f"start {scale.start:g} {scale.unit}, reference {scale.reference:g} {scale.unit}, "
        f"spread {measured.spread(found.card):.3f}; written to {path}"
    )


@cli.command()
@json_option
def doctor(as_json: bool) -> None:
    """Say what works on this machine: isolation modes, devices, what is missing."""
    from openrebench.core.reading import doctor_rows

    rows = doctor_rows()
    if as_json:
        print_json(rows)
        return
    print_table(("what", "state", "note"), [(r["what"], r["state"], r["note"]) for r in rows])


def _runner(mode: str | None) -> "LocalRunner":
    from openrebench.isolation.local import LocalRunner

    return LocalRunner.named(mode)


for _command in (report, review, import_tables, export_tables, assets, serve, human, watch, run):
    cli.add_command(_command)
