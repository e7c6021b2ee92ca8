"""The commands of `re-bench` that score nothing: report, review, import, export, assets, serve."""

import signal
from pathlib import Path

import click

from openrebench.console import needs_extra
from openrebench.errors import ReBenchError

folders_argument = click.argument("folders", nargs=-1, type=click.Path(path_type=Path))
file_argument = click.argument("file", type=click.Path(path_type=Path, exists=True))
where_option = click.option(
    "--where", multiple=True, metavar="COLUMN=VALUE", help="Only attempts with this value."
)
keep_option = click.option("--keep-marked", is_flag=True, help="Let doubtful attempts count.")


@click.command()
@folders_argument
@click.option(
    "-o", "--out", type=click.Path(path_type=Path), default=Path("report"), show_default=True
)
@click.option("--estimator", type=click.Choice(["unbiased", "plug_in"]), default="unbiased")
@click.option("--resamples", default=1000, show_default=True, help="Bootstrap resamples.")
@click.option("--seed", default=0, show_default=True, help="Seed of the bootstrap.")
@click.option("--suite", default="all", show_default=True, help="Environments of aggregates.")
@click.option(
    "--flagged",
    type=click.Choice(["failure", "drop", "as_scored"]),
    default="failure",
    show_default=True,
    help="What an attempt with an integrity finding is.",
)
@click.option("--official", is_flag=True, help="Use re-scored results (re-bench rescore).")
@click.option("--present-only", is_flag=True, help="Average over the environments present.")
@keep_option
@where_option
def report(folders: tuple[Path, ...], out: Path, where: tuple[str, ...], **choices: object) -> None:
    """Draw tables and figures from folders of attempts or imported tables.

    Without a folder it shows what is published. Needs the extra `report`.
    """
    with needs_extra("report"):
        from openrebench.analysis.options import Options
        from openrebench.report.build import build_report

        options = Options(where=_pairs(where, "--where"), **choices)  # type: ignore[arg-type]
        click.echo(f"report written to {build_report(list(folders), out, options=options)}")


@click.command()
@click.argument("attempt", type=click.Path(path_type=Path, exists=True, file_okay=False))
@click.option("-o", "--out", type=click.Path(path_type=Path), help="File to write (Markdown).")
def review(attempt: Path, out: Path | None) -> None:
    """Show what a person should look at: flags, refusals, and what flagged submissions changed."""
    from openrebench.core.attempt import read_attempt
    from openrebench.core.reviewing import review_pack

    pack = review_pack(read_attempt(attempt))
    if out is None:
        click.echo(pack, nl=False)
        return
    out.write_text(pack, encoding="utf-8")
    click.echo(f"review pack written to {out}")


@click.command("import")
@click.argument("kind", type=click.Choice(["metr", "inspect", "csv", "folders"]))
@file_argument
@click.option("-o", "--out", type=click.Path(path_type=Path), required=True, help="Folder to make.")
@click.option("--budget", help="How long agents had, where a file of METR's does not say: 8h.")
def import_tables(kind: str, file: Path, out: Path, budget: str | None) -> None:
    """Read attempts from FILE into a table that `report` takes; needs the extra `report`.

    METR's runs (JSON lines), Inspect's .eval logs, a CSV, or a folder of attempts (faster to
    report on afterwards).
    """
    with needs_extra("report"):
        from openrebench.analysis.table import write_parquet

        table, notes = _read(kind, file, budget)
        write_parquet(table, out)
    for note in notes:
        click.echo(note)
    click.echo(f"{table.attempts.height} attempts written to {out}")


@click.command("export")
@click.argument("kind", type=click.Choice(["metr", "csv"]))
@folders_argument
@click.option("-o", "--out", type=click.Path(path_type=Path), required=True, help="File to write.")
@click.option(
    "--human-minutes", multiple=True, metavar="ENV=480", help="How long a human takes (metr)."
)
@click.option("--threshold", default=1.0, show_default=True, help="Score of a success (metr).")
@keep_option
@where_option
def export_tables(
    kind: str,
    folders: tuple[Path, ...],
    out: Path,
    human_minutes: tuple[str, ...],
    threshold: float,
    keep_marked: bool,
    where: tuple[str, ...],
) -> None:
    """Write attempts for other tools: METR's time-horizon pipeline, or a CSV."""
    with needs_extra("report"):
        from openrebench.analysis.folders import read_tables
        from openrebench.analysis.importers.csv_table import export_csv
        from openrebench.analysis.importers.metr_export import export_metr
        from openrebench.analysis.marks import prepared
        from openrebench.analysis.options import Options

        options = Options(where=_pairs(where, "--where"), keep_marked=keep_marked)
        table = prepared(read_tables(folders), options)
        if kind == "csv":
            export_csv(table, out)
            written = table.attempts.height
        else:
            minutes = {k: _number(v) for k, v in _pairs(human_minutes, "--human-minutes").items()}
            written = export_metr(table, out, human_minutes=minutes, threshold=threshold)
    click.echo(f"{written} attempts written to {out}")


@click.command()
@click.argument("labels", nargs=-1, metavar="[ENVIRONMENT/PROFILE]...")
def assets(labels: tuple[str, ...]) -> None:
    """Get or make what profiles need beyond what ships; without names, say what is missing.

    `re-bench assets gpt2_qa/full` downloads, `re-bench assets llm_foundry/small` makes secret
    variants, so that the first score needs not wait for them.
    """
    from openrebench.core.catalog import load_cards, load_environment
    from openrebench.core.reading import availability

    for label in labels:
        name, _, profile = label.partition("/")
        environment = load_environment(name)
        with needs_extra("full"):
            environment.fetch(profile)
        missing = availability(environment)["why_not"].get(profile)
        click.echo(f"{label}: {missing or 'all is here'}")
    if not labels:
        with needs_extra("text"):
            from openrebench.textbase.assets import problems
        rows = [availability(load_environment(name)) for name in load_cards()]
        lacking = [f"{r['id']}/{p}: {why}" for r in rows for p, why in r["why_not"].items()]
        click.echo("\n".join([*problems(), *lacking]) or "all is here")


@click.command()
@click.argument("directory", type=click.Path(path_type=Path, exists=True, file_okay=False))
def serve(directory: Path) -> None:
    """Open the metered service of DIRECTORY's environment (made by `start`) until Ctrl-C."""
    from openrebench.core.own_attempt import open_own_door

    with open_own_door(directory) as door:
        click.echo(f"{door.service.name} answers in {directory}; end it with Ctrl-C")
        signal.pause()


def _read(kind: str, file: Path, budget: str | None):  # type: ignore[no-untyped-def] # noqa: ANN202
    from openrebench.analysis.folders import read_folders
    from openrebench.analysis.importers.csv_table import import_csv
    from openrebench.analysis.importers.imported import Imported
    from openrebench.analysis.importers.inspect_logs import import_inspect
    from openrebench.analysis.importers.metr import import_metr
    from openrebench.core.duration import parse_duration

    if kind == "folders":
        return Imported(read_folders([file]), ())
    if kind == "metr":
        return import_metr(file, agent_budget_s=parse_duration(budget) if budget else None)
    return import_csv(file) if kind == "csv" else import_inspect(file)


def _pairs(words: tuple[str, ...], option: str) -> dict[str, str]:
    """Split NAME=VALUE words."""
    for word in words:
        if "=" not in word:
            raise ReBenchError(f"{option} {word}: write it as NAME=VALUE")
    return dict(word.split("=", 1) for word in words)


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError as error:
        raise ReBenchError(f"--human-minutes: '{text}' is not a number of minutes") from error
