"""Write attempts as rows that METR's time-horizon pipeline reads.

The pipeline needs one success or failure for each run, and how long a human takes for the task.
A run succeeds when its score reaches the threshold; how long humans take must be given, since a
score log does not hold it.
"""

import json
import math
from collections.abc import Mapping
from pathlib import Path

import polars as pl

from openrebench.analysis.errors import TableError
from openrebench.analysis.facts import published_environments
from openrebench.analysis.table import Attempts

TASK_SOURCE = {"full": "RE-Bench"}


def export_metr(
    table: Attempts,
    path: Path,
    *,
    human_minutes: Mapping[str, float],
    threshold: float = 1.0,
) -> int:
    """Write the attempts that count as JSON lines.

    Each row has both shapes' score: `score` without a cap, `score_cont` clipped to 0..1, and
    `score_binarized`. Attempts at another profile than `full` name it in `task_source`, so that
    nobody takes them for RE-Bench.

    Args:
        table: Prepared attempts.
        path: File to write.
        human_minutes: For each environment how long a qualified human takes.
        threshold: Normalised score from which on a run is a success.

    Returns:
        How many rows were written.

    Raises:
        TableError: An environment has no human minutes.
    """
    counted = table.counted
    for environment in counted["environment"].unique().sort().to_list():
        minutes = human_minutes.get(environment)
        if minutes is None or not math.isfinite(minutes) or minutes <= 0:
            raise TableError(
                f"no human minutes for {environment}; the time-horizon pipeline needs how long a "
                f"human takes, for example: --human-minutes {environment}=480"
            )
    weighed = _weighed(counted)
    rows = [_row(row, human_minutes, threshold) for row in weighed.iter_rows(named=True)]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return len(rows)


def _weighed(counted: pl.DataFrame) -> pl.DataFrame:
    """Add the weights of a run: equal for each task; each family here has one task.

    Source: the definitions of `equal_task_weight` and `invsqrt_task_weight` in
    METR/eval-analysis-public, src/horizon/compute_task_weights.py.
    """
    runs = pl.len().over("solver", "kind", "environment")
    tasks = pl.col("environment").n_unique().over("solver", "kind")
    return counted.with_columns(weight=1 / (runs * tasks)).sort("solver", "attempt")


def _row(
    row: Mapping[str, object], human_minutes: Mapping[str, float], threshold: float
) -> dict[str, object]:
    environment, profile = str(row["environment"]), str(row["profile"])
    score = _number(row["score"])
    started_ms = int(_number(row["started_ms"]))
    elapsed_ms = int(1000 * (_number(row["wall_s"]) or _number(row["working_s"])))
    family = _published_id(environment)
    return {
        "run_id": row["attempt"],
        "task_id": f"{family}/main",
        "task_family": family,
        "task_source": TASK_SOURCE.get(profile, f"OpenRE-Bench {profile}"),
        "task_version": row["version"],
        "alias": "human" if row["kind"] == "human" else row["solver"],
        "model": row["model"] or row["solver"],
        "score": score,
        "score_cont": min(1.0, score),
        "score_binarized": int(score >= threshold),
        "fatal_error_from": None if row["kind"] == "human" else "usageLimits",
        "time_limit": 0 if row["kind"] == "human" else int(_number(row["length_s"])),
        "started_at": started_ms,
        "completed_at": started_ms + elapsed_ms,
        "human_minutes": human_minutes[environment],
        "human_score": None,
        "human_source": "baseline",
        "generation_cost": row["cost_usd"],
        "tokens_count": _tokens(row),
        "equal_task_weight": row["weight"],
        "invsqrt_task_weight": row["weight"],
    }


def _number(value: object) -> float:
    return float(value) if isinstance(value, int | float) else 0.0


def _tokens(row: Mapping[str, object]) -> int | None:
    known = [row[name] for name in ("input_tokens", "output_tokens")]
    counts = [value for value in known if isinstance(value, int)]
    return sum(counts) if counts else None


def _published_id(environment: str) -> str:
    found = published_environments().filter(pl.col("environment") == environment)
    return str(found["published_id"][0]) if found.height else environment
