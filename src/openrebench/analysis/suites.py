"""Named lists of environments that a mean is over."""

import tomllib
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import NamedTuple

from openrebench.analysis.errors import TableError


class Suite(NamedTuple):
    """Environments whose scores are averaged, each with the same weight."""

    name: str
    title: str
    environments: tuple[str, ...]
    source: str


def load_suites() -> dict[str, Suite]:
    """Load the suites that ship with the package, by name."""
    folder = files("openrebench") / "suites"
    found = (_load(path) for path in folder.iterdir() if path.name.endswith(".toml"))
    return {suite.name: suite for suite in sorted(found)}


def find_suite(name: str) -> Suite:
    """Look up a suite.

    Raises:
        TableError: There is none of this name.
    """
    suites = load_suites()
    if name not in suites:
        raise TableError(f"no suite named '{name}'; there are: {', '.join(suites)}")
    return suites[name]


def _load(path: Traversable) -> Suite:
    data = tomllib.loads(path.read_text(encoding="utf-8"))
    return Suite(
        path.name.removesuffix(".toml"), data["title"], tuple(data["environments"]), data["source"]
    )
