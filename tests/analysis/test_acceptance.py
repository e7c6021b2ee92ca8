"""The acceptance numbers on public rows, to 0.001. Runs where the file lies beside the project."""

from functools import cache
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from openrebench.analysis.budgets import Estimates, allocation_frame, estimated
from openrebench.analysis.comparisons import paper_comparisons
from openrebench.analysis.curves import curve
from openrebench.analysis.groups import Group, grouped
from openrebench.analysis.importers.metr import import_metr
from openrebench.analysis.marks import prepared
from openrebench.analysis.options import HOUR_S, Options
from openrebench.analysis.suites import find_suite
from openrebench.analysis.summary import attempt_summary
from openrebench.analysis.table import Attempts

PUBLISHED = Options(estimator="plug_in", keep_marked=True, resamples=200)
ORDER = (
    "fix_embedding",
    "gpt2_qa",
    "llm_foundry",
    "restricted_mlm",
    "rust_codecontests",
    "scaling_law",
    "prefix_sum",
)
UNFILTERED = [
    ("human experts", 8.0, (17, 12, 17, 12, 14, 11, 10), {1: 0.786, 2: 1.102, 4: 1.458, 8: 1.855}),
    (
        "o1-preview",
        0.5,
        (37, 37, 28, 36, 36, 36, 38),
        {1: 0.113, 4: 0.272, 16: 0.546, 64: 0.800, 128: 0.836},
    ),
    ("o1-preview", 2.0, (17, 16, 17, 18, 16, 12, 15), {1: 0.235, 4: 0.342, 16: 0.449}),
    (
        "Claude 3.5 Sonnet (Old)",
        0.5,
        (46, 32, 13, 4, 88, 24, 25),
        {1: 0.109, 4: 0.200, 16: 0.276, 64: 0.306},
    ),
    ("GPT-4o", 0.5, (35, 34, 36, 32, 36, 37, 32), {1: 0.057, 4: 0.089, 16: 0.124, 64: 0.161}),
    (
        "Claude 3 Opus",
        0.5,
        (35, 37, 39, 38, 39, 38, 36),
        {1: 0.065, 4: 0.100, 16: 0.144, 64: 0.192},
    ),
]


@cache
def imported(path: Path) -> Attempts:
    return import_metr(path).attempts


def group_of(path: Path, solver: str, options: Options) -> Group:
    groups = grouped(prepared(imported(path), options), ORDER, options)
    return next(group for group in groups if group.solver == solver)


def estimates_of(path: Path, options: Options) -> list[Estimates]:
    environments = find_suite("all").environments
    table = prepared(imported(path), options)
    return [estimated(group, options) for group in grouped(table, environments, options)]


def test_all_rows_are_there(metr_file: Path) -> None:
    assert len(imported(metr_file)) == 1808


@pytest.mark.parametrize(("solver", "length_h", "n", "scores"), UNFILTERED)
def test_unfiltered_rows_give_the_table(
    metr_file: Path, solver: str, length_h: float, n: tuple, scores: dict
) -> None:
    group = group_of(metr_file, solver, PUBLISHED)
    column = int(np.flatnonzero(np.isclose(group.lengths_s, length_h * HOUR_S))[0])
    assert tuple(group.n()[:, column]) == n
    frame = allocation_frame(estimated(group, PUBLISHED)).filter(pl.col("length_h") == length_h)
    found = dict(frame.select("k", "score").rows())
    for k, score in scores.items():
        assert found[k] == pytest.approx(score, abs=0.001)


def test_default_options_give_the_filtered_human_figures(metr_file: Path) -> None:
    options = Options(resamples=200)
    group = group_of(metr_file, "human experts", options)
    assert tuple(group.n()[:, 0]) == (15, 12, 15, 10, 12, 11, 10)
    frame = allocation_frame(estimated(group, options))
    found = dict(frame.select("k", "plug_in").rows())
    assert [found[k] for k in (1, 2, 4)] == pytest.approx([0.647, 0.862, 1.052], abs=0.001)
    unbiased = dict(frame.select("k", "score").rows())
    assert [unbiased[k] for k in (1, 2, 4)] == pytest.approx([0.647, 0.883, 1.096], abs=0.001)
    summary = attempt_summary(prepared(imported(metr_file), options)).filter(kind="human")
    assert summary["n"][0] == 85 and summary["left_out"][0] == 8
    assert summary["share_above_0"][0] == pytest.approx(0.88, abs=0.005)
    assert summary["share_at_least_1"][0] == pytest.approx(0.235, abs=0.001)


def test_marks_of_the_public_human_rows(metr_file: Path) -> None:
    humans = prepared(imported(metr_file), Options()).attempts.filter(kind="human")
    counts = dict(humans["marks"].value_counts().rows())
    assert counts == {"": 81, "over_time": 6, "implausible": 2, "short": 4}


def test_ratios_that_the_rows_support(metr_file: Path) -> None:
    """Humans over the best agent: 1.2 at 8 h, 1.3 at 32 h with doubtful human rows left out."""
    filtered = Options(estimator="plug_in", resamples=200)
    human = next(e for e in estimates_of(metr_file, filtered) if e.group.kind == "human")
    every = estimates_of(metr_file, PUBLISHED)
    agents = [e for e in every if e.group.kind != "human"]
    rows = paper_comparisons(human, agents)
    assert rows["human_over_agent"][1] == pytest.approx(1.2, abs=0.05)
    assert rows["human_over_agent"][2] == pytest.approx(1.3, abs=0.05)
    unfiltered = next(e for e in every if e.group.kind == "human")
    assert paper_comparisons(unfiltered, agents)["human_over_agent"][2] == pytest.approx(
        1.8, abs=0.05
    )
    assert "can't support it" in rows["these_attempts"][0] and rows["human_over_agent"][0] is None


def test_no_human_line_below_eight_hours(metr_file: Path) -> None:
    human = next(
        e for e in estimates_of(metr_file, Options(resamples=50)) if e.group.kind == "human"
    )
    assert curve(human).budgets_s[0] == 8 * HOUR_S


def test_no_mean_where_environments_lack_attempts(metr_file: Path) -> None:
    found = next(
        e for e in estimates_of(metr_file, Options(resamples=50)) if "New" in e.group.solver
    )
    half_hour = int(np.flatnonzero(found.group.lengths_s == 1800)[0])
    assert len(found.group.missing(half_hour)) == 3
    assert 0.5 not in set(allocation_frame(found)["length_h"])
