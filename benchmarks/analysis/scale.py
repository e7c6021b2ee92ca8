"""Time the headline curve of 100,000 attempts with 10 million log entries. Prints JSON.

    python benchmarks/analysis/scale.py [--attempts 100000] [--entries 100] [--resamples 1000]

Attempts are simulated and written as the Parquet table that imports and reports use; that is not
timed. Loading and the analysis then run in a process of their own, whose peak memory is taken.
Beside it, in the same run, a straightforward Monte Carlo of the paper's procedure (draw k attempts
with replacement, take the best, repeat, average; for every bootstrap resample) is timed on a few
of its cells and scaled to all of them, with as many draws as give its points a standard error of
PRECISION; the closed form has none.
"""

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import polars as pl

from openrebench.analysis.budgets import Estimates, estimated
from openrebench.analysis.crossover import crossover
from openrebench.analysis.curves import curve, curve_frame
from openrebench.analysis.groups import grouped
from openrebench.analysis.marks import prepared
from openrebench.analysis.options import Options
from openrebench.analysis.suites import find_suite
from openrebench.analysis.table import (
    ATTEMPT_SCHEMA,
    ENTRY_SCHEMA,
    Attempts,
    read_parquet,
    write_parquet,
)

SOLVERS = (
    ("human", "human", 8.0),
    ("agent A", "agent", 0.5),
    ("agent B", "agent", 2.0),
    ("agent C", "agent", 8.0),
)
PRECISION = 0.001
TIMED_CELLS = 40
LIMIT_S, LIMIT_BYTES = 20.0, 4 << 30


def simulated(attempts: int, entries: int) -> Attempts:
    """Make attempts whose scores rise with time; a tenth of the calls is invalid."""
    rng = np.random.default_rng(0)
    environments = find_suite("all").environments
    index = np.arange(attempts)
    names = [SOLVERS[i % len(SOLVERS)] for i in index]
    length_s = np.array([hours * 3600 for _, _, hours in names])
    row = np.repeat(index, entries).astype(np.uint32)
    at_s = np.sort(rng.random((attempts, entries)), axis=1) * length_s[:, None]
    score = rng.normal(-0.4, 0.5, (attempts, entries)) + 0.25 * np.log1p(at_s / 1800)
    valid = rng.random((attempts, entries)) > 0.1
    best = np.maximum.reduce(np.where(valid, score, 0.0), axis=1, initial=0.0)
    place = [environments[(i // len(SOLVERS)) % len(environments)] for i in index]
    frame = pl.DataFrame(
        {
            "attempt": [f"simulated {i}" for i in index],
            "environment": place,
            "solver": [f"{name} (simulated)" for name, _, _ in names],
            "kind": [kind for _, kind, _ in names],
            "counts": ["last" if name == "scaling_law" else "best" for name in place],
            "budget_s": length_s,
            "length_s": length_s,
            "working_s": length_s,
            "score": best,
            "score_calls": np.full(attempts, entries),
            "has_log": np.full(attempts, fill_value=True),
        }
    )
    fixed = {"version": "1.0.0", "profile": "small", "anchors": "simulated", "source": "own"}
    blank = [
        pl.lit(fixed.get(name, "") if kind == pl.String else None, kind).alias(name)
        for name, kind in ATTEMPT_SCHEMA.items()
        if name not in frame.columns
    ]
    log = pl.DataFrame(
        {
            "row": row,
            "at_s": at_s.ravel(),
            "outcome": pl.Series(valid.ravel()).replace_strict(
                {True: "scored", False: "invalid"}, return_dtype=ENTRY_SCHEMA["outcome"]
            ),
            "reason": pl.Series([None], dtype=ENTRY_SCHEMA["reason"]).new_from_index(0, row.size),
            "raw": score.ravel(),
            "score": score.ravel(),
        },
    ).with_columns(pl.when(pl.col("outcome") == "scored").then(pl.col("raw", "score")))
    whole = frame.with_columns(blank).select(ATTEMPT_SCHEMA.names()).cast(ATTEMPT_SCHEMA)
    return Attempts(attempts=whole, entries=log.cast(ENTRY_SCHEMA))


def headline(folder: Path, resamples: int) -> dict[str, float]:
    """Load the table and compute every curve and crossing; give times and peak memory."""
    marks = [time.perf_counter()]
    options = Options(resamples=resamples)
    table = prepared(read_parquet(folder), options)
    marks.append(time.perf_counter())
    groups = grouped(table, find_suite("all").environments, options)
    marks.append(time.perf_counter())
    found = [estimated(group, options) for group in groups]
    marks.append(time.perf_counter())
    curves = [curve(estimates) for estimates in found]
    points = sum(curve_frame(e, drawn).height for e, drawn in zip(found, curves, strict=True))
    crossed = [crossover(curves[0], drawn) for drawn in curves[1:]]
    marks.append(time.perf_counter())
    steps = dict(
        zip(("load_s", "scores_s", "bootstrap_s", "curves_s"), np.diff(marks), strict=True)
    )
    return {name: round(float(value), 3) for name, value in steps.items()} | {
        "total_s": round(marks[-1] - marks[0], 3),
        "peak_bytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
        "points": points,
        "crossings": len(crossed),
        "cells": sum(len(e.allocations) * len(e.group.environments) for e in found),
        **monte_carlo(found, resamples),
    }


def monte_carlo(found: list[Estimates], resamples: int) -> dict[str, float]:
    """Time the paper's procedure on some cells and scale it to all cells and resamples."""
    rng = np.random.default_rng(1)
    cells = [
        (sample.values[sample.known[:, a.cell.column], a.cell.column], a.cell.k)
        for e in found
        for a in e.allocations
        for sample in e.group.samples
    ]
    chosen = rng.choice(len(cells), TIMED_CELLS, replace=False)
    spent, draws_of = 0.0, []
    for i in chosen:
        scores, k = cells[i]
        resample = rng.choice(scores, len(scores))
        pilot = rng.choice(resample, (200, k)).max(axis=1).std()
        draws = max(100, int((pilot / PRECISION) ** 2))
        draws_of.append(draws)
        timed = min(draws, max(100, 2_000_000 // k))
        began = time.perf_counter()
        rng.choice(resample, (timed, k)).max(axis=1).mean()
        spent += (time.perf_counter() - began) * draws / timed
    total = spent / TIMED_CELLS * len(cells) * resamples
    return {
        "monte_carlo_standard_error": PRECISION,
        "monte_carlo_draws_median": float(np.median(draws_of)),
        "monte_carlo_s_extrapolated": round(total, 1),
    }


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--attempts", type=int, default=100_000)
    parser.add_argument("--entries", type=int, default=100)
    parser.add_argument("--resamples", type=int, default=1000)
    parser.add_argument("--folder", type=Path, help="read this table instead of making one")
    parser.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.child:
        print(json.dumps(headline(given.folder, given.resamples)))
        return
    with tempfile.TemporaryDirectory() as scratch:
        folder = given.folder or Path(scratch)
        if given.folder is None:
            write_parquet(simulated(given.attempts, given.entries), folder)
        size = sum(path.stat().st_size for path in folder.glob("*.parquet"))
        command = [sys.executable, __file__, "--child", "--folder", str(folder)]
        command += ["--resamples", str(given.resamples)]
        done = subprocess.run(command, check=True, capture_output=True, text=True)
    result = json.loads(done.stdout)
    result |= {
        "attempts": given.attempts,
        "entries": given.attempts * given.entries,
        "resamples": given.resamples,
        "table_bytes": size,
        "monte_carlo_over_closed_form": round(
            result["monte_carlo_s_extrapolated"] / result["bootstrap_s"], 1
        ),
        "within_limits": result["total_s"] < LIMIT_S and result["peak_bytes"] < LIMIT_BYTES,
    }
    print(json.dumps(result, indent=1))


if __name__ == "__main__":
    main()
