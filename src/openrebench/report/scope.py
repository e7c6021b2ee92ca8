"""What is analysed together: attempts from one kind of source at one profile."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import polars as pl

from openrebench.analysis.budgets import Estimates, estimated
from openrebench.analysis.curves import curve, curve_frame
from openrebench.analysis.groups import grouped
from openrebench.analysis.marks import require_one_class
from openrebench.analysis.options import Options
from openrebench.analysis.suites import Suite, find_suite
from openrebench.analysis.table import Attempts
from openrebench.report.theme import Palette

SIMULATED = "simulated"
UNITS = {
    "small": "OpenRE-small v1 - not RE-Bench",
    "gpu": "OpenRE-gpu v1 - not RE-Bench",
    "full": "full size, own measurements - not comparable with published results",
}
PUBLISHED_UNITS = "published, full size: not comparable with own attempts"


@dataclass(frozen=True, kw_only=True)
class Scope:
    """Attempts that may stand in one section.

    Args:
        name: Stem of file names.
        title: Heading.
        units: What scores are in, and what they are not.
        table: Prepared attempts.
        unprepared: The same attempts before flags were treated.
        options: Choices of the analysis.
    """

    name: str
    title: str
    units: str
    table: Attempts
    unprepared: Attempts
    options: Options

    @property
    def own(self) -> bool:
        """Whether the attempts were made with this project."""
        return bool((self.table.attempts["source"] == "own").all())

    @property
    def environments(self) -> list[str]:
        """Environments with attempts, in the order of the published table, then by name."""
        known = list(find_suite("all").environments)
        names = self.table.attempts["environment"].unique().to_list()
        return sorted(names, key=lambda n: (known.index(n) if n in known else len(known), n))

    def estimates(self, environments: Sequence[str]) -> list[Estimates]:
        """Estimate every solver's scores, averaged over environments."""
        groups = grouped(self.table, environments, self.options)
        return [estimated(group, self.options) for group in groups if len(group.lengths_s)]


def scopes(table: Attempts, unprepared: Attempts, options: Options) -> Iterator[Scope]:
    """Split attempts into scopes, one's own first.

    Raises:
        NotComparable: Attempts at an environment of a scope may not share an axis.
    """
    keys = (
        table.attempts.select("source", "profile")
        .unique()
        .sort(pl.col("source") != "own", "source", "profile")
    )
    for source, profile in keys.iter_rows():
        chosen = (pl.col("source") == source) & (pl.col("profile") == profile)
        scope = Scope(
            name=profile if source == "own" else f"{source}-{profile}",
            title=_title(source, profile),
            units=_units(source, profile),
            table=table.keep(chosen),
            unprepared=unprepared.keep(chosen),
            options=options,
        )
        for environment in scope.environments:
            require_one_class(scope.table, environment)
        yield scope


def _title(source: str, profile: str) -> str:
    if source == "own":
        return f"Profile {profile}: {_units(source, profile)}"
    if source == "metr":
        return "Published attempts, full size"
    return f"Imported from {source}, profile {profile}"


def _units(source: str, profile: str) -> str:
    if source == "metr":
        return PUBLISHED_UNITS
    units = UNITS.get(profile, f"profile {profile} - not RE-Bench")
    return units if source == "own" else f"imported scores, profile {profile}: as their source says"


@dataclass(frozen=True, kw_only=True)
class Mean:
    """What the headline averages over.

    Args:
        environments: Names; empty if there is no mean.
        words: Says so in the figure.
        notes: What is left out, or why there is no mean.
    """

    environments: tuple[str, ...]
    words: str
    notes: tuple[str, ...]


def mean_of(scope: Scope) -> Mean:
    """Decide what the headline of a scope averages over.

    The suite's environments, each weighing the same, without those with a simulated coder. Where
    attempts at one are missing there is no mean, unless the options average over those present.
    A scope with one environment shows that one.
    """
    present = scope.environments
    if len(present) == 1:
        return Mean(environments=(present[0],), words=present[0], notes=())
    suite = find_suite(scope.options.suite)
    simulated = [name for name in suite.environments if _is_simulated(scope, name)]
    wanted = [name for name in suite.environments if name not in simulated]
    missing = [name for name in wanted if name not in present]
    notes = [f"Left out of the mean: {name}, whose coder is simulated." for name in simulated]
    if missing and not scope.options.present_only:
        return Mean(environments=(), words="", notes=(*notes, _no_mean(suite, missing)))
    chosen = tuple(name for name in wanted if name in present)
    whole = not missing and not simulated
    words = f"mean over {suite.title}" if whole else f"mean over {', '.join(chosen)}"
    return Mean(environments=chosen, words=words, notes=tuple(notes))


def _is_simulated(scope: Scope, environment: str) -> bool:
    here = scope.table.attempts.filter(pl.col("environment") == environment)
    return bool(here["stand_in"].str.contains(SIMULATED).any())


def _no_mean(suite: Suite, missing: Sequence[str]) -> str:
    return (
        f"No mean over environments: suite '{suite.name}' also has {', '.join(missing)}, without "
        "attempts here. Choose another suite, or average over those present (--present-only)."
    )


def palette_of(scope: Scope) -> Palette:
    """Give the strongest agents of a scope the clearest colours."""
    order = (
        scope.table.attempts.group_by("solver", "kind")
        .agg(pl.col("score").fill_null(0.0).mean().alias("mean"))
        .sort("mean", "solver", descending=[True, False])
    )
    return Palette.of(order.select("solver", "kind").rows())


def curves_of(estimates: Sequence[Estimates]) -> pl.DataFrame:
    """Tabulate the curve of every solver, the highest first."""
    frames = [curve_frame(found, curve(found)) for found in estimates]
    frames = [frame for frame in frames if frame.height]
    return pl.concat(frames) if frames else pl.DataFrame()
