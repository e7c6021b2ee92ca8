"""Facts that ship with the package: human attempts and published results, each with its source."""

from functools import cache
from importlib.resources import files
from typing import Literal

import polars as pl

Collection = Literal["eval_analysis", "readme_tables"]


@cache
def published_environments() -> pl.DataFrame:
    """The seven published environments: id, published id and title, anchors in raw units."""
    return _read("published_environments")


def human_attempts(collection: Collection = "eval_analysis") -> pl.DataFrame:
    """Public attempts by human experts at the published environments.

    The two collections overlap and must never be pooled: `eval_analysis` has 93 attempts at
    all seven environments with hours and normalised scores; `readme_tables` has 61 attempts at
    five, with raw scores, and two single values.
    """
    return _read("human_attempts").filter(pl.col("collection") == collection)


def published_results() -> pl.DataFrame:
    """Every published RE-Bench result known to the project, numeric or not.

    `score` is a number only where one was given; `scale` says what its 1 means: "reference"
    (the reference solution, as here), "human" or "own" (neither goes on the same axis).
    """
    return _read("published_results")


@cache
def _read(name: str) -> pl.DataFrame:
    path = files("openrebench") / "data" / f"{name}.csv"
    return pl.read_csv(path.read_bytes(), infer_schema_length=None)
