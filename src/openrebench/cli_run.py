"""The command `re-bench run`: agents attempt environments by a plan."""

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click
from click.core import ParameterSource

from openrebench.console import needs_extra, number, print_json, print_table
from openrebench.errors import ReBenchError

if TYPE_CHECKING:
    from openrebench.harness.estimate import Most
    from openrebench.harness.plan import Plan
    from openrebench.harness.run import Ran

EXIT_USAGE = 2
HERE = "."  # --resume without a folder
COUNT = click.IntRange(min=1)


@click.command()
@click.argument("environments", nargs=-1)
@click.option("--suite", help="Environments of a suite: small, all, no_network, ...")
@click.option("--agent", "agents", multiple=True, help="Who attempts; literal_search if left out.")
@click.option("--model", "models", multiple=True, help="Any Inspect model string.")
@click.option("--agent-arg", "agent_args", multiple=True, metavar="NAME=VALUE", help="For agents.")
@click.option("--model-arg", "model_args", multiple=True, metavar="NAME=VALUE", help="For models.")
@click.option("--time-limit", default="30m", show_default=True, help="Budget: 90s, 30m, 8h, 7d.")
@click.option("--attempts", type=COUNT, default=1, show_default=True, help="Attempts of each.")
@click.option("--profile", default="small", show_default=True, help="Size to use.")
@click.option(
    "--scoring-time",
    type=click.Choice(["counted", "free"]),
    default="counted",
    show_default=True,
    help="Whether score calls use the budget.",
)
@click.option("--max-wall", metavar="DURATION", help="Fuse: wall time of each attempt.")
@click.option("--max-tokens", type=COUNT, help="Fuse: tokens of each attempt.")
@click.option("--max-cost", type=float, metavar="USD", help="Fuse: money of each attempt.")
@click.option("--max-disk", metavar="SIZE", help="Fuse: workspace of each attempt; 50GB.")
@click.option("--price", "prices", multiple=True, metavar="MODEL=IN,OUT", help="USD per million.")
@click.option("--prices", "price_file", type=click.Path(path_type=Path), help="TOML of prices.")
@click.option("--seed", default=0, show_default=True, help="Seed of agents that draw at random.")
@click.option("--parallel", type=COUNT, default=1, show_default=True, help="Attempts at a time.")
@click.option(
    "--attempts-dir",
    type=click.Path(path_type=Path),
    default=Path("attempts"),
    show_default=True,
    help="Folder of attempts.",
)
@click.option(
    "--resume",
    is_flag=False,
    flag_value=HERE,
    type=click.Path(path_type=Path),
    metavar="[FOLDER]",
    help="Go on with what is not done in a folder of attempts (or with this command, put last).",
)
@click.option("--dry-run", is_flag=True, help="Only say what it will use at most.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON with stable keys.")
def run(resume: Path | None, dry_run: bool, as_json: bool, **options: Any) -> None:  # noqa: ANN401
    """Let agents attempt ENVIRONMENTS; needs the extra `agents` (Inspect AI).

    Every agent with every model at every environment. Interrupted by whatever it was, a run goes
    on with: re-bench run --resume FOLDER. Exit codes: 0 done, 2 usage or nothing can run here,
    130 interrupted.
    """
    with needs_extra("agents"):
        from openrebench.harness.plan import unfinished

        command = Command.read(options)
        if resume is None:
            plans = [command.plan()]
        else:
            root = command.root if resume == Path(HERE) else resume
            if not command.environments:
                _check_alone()
            folder = root.parent if root.is_file() else root
            command = command._replace(root=folder, lenient=True)
            plans = unfinished(root, command.plan() if command.environments else None)
    if dry_run:
        _print_estimate(plans, command.root, as_json)
    elif not plans:
        click.echo(f"nothing is left to do in {command.root}")
    else:
        _run(plans, command, as_json)


def _check_alone() -> None:
    """Refuse options that `--resume FOLDER` would have to ignore: it goes by the plan.

    Raises:
        ReBenchError: There is one.
    """
    context = click.get_current_context()
    given = [
        parameter.opts[-1]
        for parameter in context.command.params
        if context.get_parameter_source(parameter.name or "") is ParameterSource.COMMANDLINE
    ]
    if ignored := sorted(set(given) - {"--resume", "--dry-run", "--json", "--attempts-dir"}):
        raise ReBenchError(
            f"--resume takes its settings from the plan; leave out {', '.join(ignored)}, "
            "or repeat the whole command"
        )


class Command(NamedTuple):
    """What the options say.

    Attributes:
        lenient: Leave out environments that can't run here, as a suite does.
    """

    environments: tuple[str, ...]
    settings: Mapping[str, Any]
    root: Path
    lenient: bool

    @classmethod
    def read(cls, options: Mapping[str, Any]) -> "Command":
        """Check the options.

        Raises:
            ReBenchError: One can't be read.
        """
        from openrebench.analysis.suites import find_suite
        from openrebench.core.catalog import find_card

        suite, named = options["suite"], options["environments"]
        if suite and named:
            raise ReBenchError(f"--suite {suite} names environments, and so does {named[0]}")
        names = find_suite(suite).environments if suite else [find_card(n).id for n in named]
        settings = {
            "agents": options["agents"] or ("literal_search",),
            "models": options["models"] or ("none/none",),
            **{name: options[name] for name in ("attempts", "profile", "seed", "parallel")},
            "scoring": options["scoring_time"],
            "agent_args": _pairs(options["agent_args"], "--agent-arg"),
            "model_args": _pairs(options["model_args"], "--model-arg"),
            **_limits(options),
        }
        return cls(tuple(names), settings, options["attempts_dir"], bool(suite))

    def plan(self) -> "Plan":
        """Make the plan.

        Raises:
            ReBenchError: No environment is named.
        """
        from openrebench.harness.plan import Plan

        if not self.environments:
            raise ReBenchError(
                "name environments or a --suite; re-bench list shows them, "
                "and --resume FOLDER goes on with what is not done"
            )
        return Plan.make(self.environments, **self.settings)


def _limits(options: Mapping[str, Any]) -> dict[str, Any]:
    """Read the budget, the fuses and the prices."""
    from openrebench.core.duration import parse_duration
    from openrebench.harness.budget import Fuses, parse_size
    from openrebench.harness.prices import read_prices

    if options["max_cost"] is not None and options["max_cost"] <= 0:
        raise ReBenchError(f"--max-cost {options['max_cost']}: it must be above 0 USD")
    given = {
        "max_wall_s": options["max_wall"] and parse_duration(options["max_wall"]),
        "max_tokens": options["max_tokens"],
        "max_cost_usd": options["max_cost"],
        "max_disk_bytes": options["max_disk"] and parse_size(options["max_disk"]),
    }
    return {
        "time_limit_s": parse_duration(options["time_limit"]),
        "fuses": Fuses(**{name: value for name, value in given.items() if value is not None}),
        "prices": read_prices(options["price_file"], options["prices"]),
    }


def _run(plans: list["Plan"], command: Command, as_json: bool) -> None:
    from openrebench.harness.run import run_plan

    try:
        done = [run_plan(p, command.root, skip_unavailable=command.lenient) for p in plans]
    except KeyboardInterrupt:
        click.echo(f"go on with: re-bench run --resume {command.root}", err=True)
        raise
    if as_json:
        print_json(_report(done))
    else:
        _print_attempts(done)
    if not any(ran.folders for ran in done):
        sys.exit(EXIT_USAGE)


def _report(done: list["Ran"]) -> dict[str, object]:
    """Give what came of plans, with stable keys."""
    from openrebench.core.reading import summary

    return {
        "plans": [ran.plan.id for ran in done],
        "attempts": [dict(summary(folder)) for ran in done for folder in ran.folders],
        "not_run": {name: why for ran in done for name, why in ran.not_run.items()},
    }


def _print_attempts(done: list["Ran"]) -> None:
    from openrebench.core.reading import summary
    from openrebench.harness.accounts import read_accounts

    rows, notes = [], set()
    for folder in [folder for ran in done for folder in ran.folders]:
        row, used = summary(folder), read_accounts(folder)
        if row["raw"] is not None and row["note"]:
            notes.add(row["note"])
        scores = str(row["score_calls"]), row["best"], number(row["normalised"])
        money = "" if used is None or not used.models else _money(used.cost_usd, used.unpriced)
        rows.append((row["attempt"], row["ended"], *scores, money))
    with_money = any(row[-1] for row in rows)
    headings = ("attempt", "ended", "scores", "best raw", "normalised", "money")
    print_table(headings[: 5 + with_money], [row[: 5 + with_money] for row in rows])
    for note in sorted(notes):
        click.echo(f"note: {note}")
    for name, why in {n: w for ran in done for n, w in ran.not_run.items()}.items():
        click.echo(f"not run: {name}: {why}")


def _money(cost_usd: float | None, unpriced: tuple[str, ...]) -> str:
    if cost_usd is None:
        return f"unknown: no price of {', '.join(unpriced)}"
    return f"{cost_usd:.2f} USD"


def _print_estimate(plans: list["Plan"], root: Path, as_json: bool) -> None:
    """Say what plans will use at most; attempts that are done cost nothing more."""
    from openrebench.harness.estimate import Most, estimate, total
    from openrebench.harness.plan import progress
    from openrebench.harness.prices import load_prices
    from openrebench.harness.run import usable_environments

    shipped = load_prices()
    rows: list[Most] = []
    not_run: dict[str, str] = {}
    for plan in plans:
        cells = progress(plan, root).left(plan) if plan.path(root).exists() else list(plan.cells)
        found, why = usable_environments(plan, skip_unavailable=True)
        cells = [cell for cell in cells if cell.environment in found]
        rows += estimate(plan, shipped.over(plan.prices), cells)
        not_run |= why
    if as_json:
        facts = {"checked": shipped.checked, "source": shipped.source}
        dumped = {"rows": [r._asdict() for r in rows], "total": total(rows)._asdict()}
        print_json({**dumped, "not_run": not_run, "prices": facts})
        return
    _print_most([*rows, total(rows)])
    for name, why_not in not_run.items():
        click.echo(f"will not run: {name}: {why_not}")
    for why_not in dict.fromkeys(row.why_not for row in rows if row.why_not):
        click.echo(f"money is not bounded: {why_not}")
    click.echo(f"At most; nothing was run. Prices of {shipped.checked}: {shipped.source}.")


def _print_most(rows: list["Most"]) -> None:
    from openrebench.core.duration import format_duration

    headings = ("environment", "agent", "model", "attempts", "work", "wall", "tokens", "money")
    table: list[tuple[str, ...]] = [
        (
            row.environment,
            row.agent,
            row.model,
            str(row.attempts),
            format_duration(row.working_s),
            format_duration(row.wall_s),
            "no limit" if row.tokens is None else f"{row.tokens:,}",
            "no bound" if row.cost_usd is None else f"{row.cost_usd:.2f} USD",
        )
        for row in rows
    ]
    print_table(headings, table)


def _pairs(words: tuple[str, ...], option: str) -> dict[str, object]:
    """Split NAME=VALUE words; a value that reads as JSON is that, else text."""
    import json

    found: dict[str, object] = {}
    for word in words:
        name, equals, value = word.partition("=")
        if not name or not equals:
            raise ReBenchError(f"{option} {word}: write it as NAME=VALUE")
        try:
            found[name] = json.loads(value)
        except ValueError:
            found[name] = value
    return found
