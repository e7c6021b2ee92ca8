"""Problems as solvers and the judge see them, and where they come from."""

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from pydantic import JsonValue


class Case(NamedTuple):
    """An input, and the output that is expected."""

    input: str
    output: str


@dataclass(frozen=True, kw_only=True)
class Problem:
    """A problem with all its tests.

    Args:
        key: Its name on the trusted side; a solver never sees it.
        name: What it is called in this score call.
        description: The statement, with the sample tests.
        public: Tests that the solver gets.
        hidden: Gives the further tests, which are made when they are needed.
        digest: Names all tests, for verdicts that are kept.
    """

    key: str
    name: str
    description: str
    public: tuple[Case, ...]
    hidden: Callable[[], tuple[Case, ...]]
    digest: str

    @cached_property
    def tests(self) -> tuple[Case, ...]:
        """All tests, those that the solver gets first."""
        return (*self.public, *self.hidden())

    def stripped(self, **facts: JsonValue) -> dict[str, JsonValue]:
        """Give what the solver gets, in the words of CodeContests."""
        return {
            "name": self.name,
            "description": self.description,
            "public_tests": as_columns(self.public),
            **facts,
        }


def as_columns(tests: tuple[Case, ...]) -> dict[str, JsonValue]:
    """Write tests as CodeContests does: all inputs, and all outputs."""
    return {"input": [t.input for t in tests], "output": [t.output for t in tests]}


def from_columns(columns: Mapping[str, list[str]] | None) -> tuple[Case, ...]:
    """Read tests as CodeContests writes them."""
    if not columns:
        return ()
    return tuple(map(Case, columns["input"], columns["output"]))


def digest_of(tests: tuple[Case, ...]) -> str:
    """Hash tests."""
    return hashlib.sha256(repr([tuple(test) for test in tests]).encode()).hexdigest()
