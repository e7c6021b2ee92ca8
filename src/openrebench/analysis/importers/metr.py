"""METR's tables of runs, in both shapes they were published in.

`all_runs.jsonl` (2025): `score` without a cap, `time_limit` in seconds, 0 for humans.
`runs.jsonl` (time horizon 1.0 and 1.1): `score_cont` clipped to 0..1, no time limit.
Both give start and end in milliseconds. Rows hold final scores only, so a run says nothing of
shorter budgets.

Source: METR/eval-analysis-public.
"""

import json
from pathlib import Path

import polars as pl

from openrebench.analysis.errors import TableError
from openrebench.analysis.importers.imported import (
    Imported,
    counts_of,
    published_ids,
    refuse_duplicates,
    refuse_rows,
    require_columns,
)
from openrebench.analysis.options import HOUR_S
from openrebench.analysis.table import ATTEMPT_SCHEMA, ENTRY_SCHEMA, Attempts, checked

HUMAN_BUDGET_S = 8 * HOUR_S
HUMAN = "human"
NEEDED = ("run_id", "task_id", "alias", "started_at", "completed_at")
SCORE_COLUMNS = ("score", "score_cont")
THEIR_ERRORS = ("server", "serverOrTask", "user")
TYPES = {
    **dict.fromkeys(("run_id", "task_id", "alias", "model", "fatal_error_from"), pl.String),
    **dict.fromkeys(("score", "score_cont", "time_limit", "generation_cost"), pl.Float64),
    **dict.fromkeys(("started_at", "completed_at"), pl.Float64),
}


def import_metr(path: Path, *, agent_budget_s: float | None = None) -> Imported:
    """Read a table of runs.

    Args:
        path: JSON lines in either shape.
        agent_budget_s: Working seconds that agents had; needed where the file has no
            `time_limit`.

    Raises:
        TableError: A row is broken, a column is missing, a score or time is no finite number or
            negative, or an id occurs twice.
    """
    frame = _read(path)
    require_columns(path, frame, NEEDED)
    score = next((name for name in SCORE_COLUMNS if name in frame.columns), None)
    if score is None:
        require_columns(path, frame, SCORE_COLUMNS[:1])
    frame = frame.with_columns(pl.col(str(score)).alias("score"))
    names = published_ids()
    family = pl.col("task_id").str.split("/").list.first()
    frame = frame.with_columns(
        environment=family.replace_strict(names, default=None, return_dtype=pl.String)
    )
    ours = frame.filter(pl.col("environment").is_not_null())
    if ours.height == 0:
        raise TableError(f"{path}: holds no run of a RE-Bench task; is it the right file?")
    _check(path, frame)
    table = _table(path, ours, clipped=score == "score_cont", agent_budget_s=agent_budget_s)
    return Imported(table, _notes(frame.height - ours.height, clipped=score == "score_cont"))


def _read(path: Path) -> pl.DataFrame:
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise TableError(f"{path}: can't be read ({error})") from error
    rows = [_row(path, i, line) for i, line in enumerate(lines, start=1) if line.strip()]
    if not rows:
        raise TableError(f"{path}: is empty; expected one JSON object for each run")
    present = {name for row in rows for name in row}
    try:
        return pl.DataFrame(
            [{name: row.get(name) for name in present} for row in rows],
            schema_overrides={name: kind for name, kind in TYPES.items() if name in present},
            infer_schema_length=None,
        )
    except (pl.exceptions.PolarsError, TypeError) as error:
        reason = str(error).splitlines()[0]
        raise TableError(f"{path}: a column mixes numbers and text ({reason})") from error


def _row(path: Path, number: int, line: str) -> dict[str, object]:
    try:
        row = json.loads(line)
    except json.JSONDecodeError as error:
        raise TableError(
            f"{path}: row {number} is not JSON ({error.msg}); mend or remove it"
        ) from error
    if not isinstance(row, dict):
        raise TableError(f"{path}: row {number} is not a JSON object; mend or remove it")
    return row


def _check(path: Path, frame: pl.DataFrame) -> None:
    """Check what every row must have, in the order of the file."""
    ours = pl.col("environment").is_not_null()
    for column in ("run_id", "alias"):
        refuse_rows(path, frame, ours & pl.col(column).is_null(), column, "there")
    bad_score = ~pl.col("score").is_finite()
    refuse_rows(path, frame, ours & bad_score.fill_null(value=True), "score", "a finite number")
    took = pl.col("completed_at") - pl.col("started_at")
    refuse_rows(
        path, frame, ours & (took < 0).fill_null(value=True), "completed_at", "after started_at"
    )
    if "time_limit" in frame.columns:
        late = (pl.col("time_limit") < 0).fill_null(value=False)
        refuse_rows(path, frame, ours & late, "time_limit", "seconds, not below 0")
    refuse_duplicates(path, frame.filter(ours), "run_id")


def _table(
    path: Path, rows: pl.DataFrame, *, clipped: bool, agent_budget_s: float | None
) -> Attempts:
    human = pl.col("alias") == HUMAN
    limit = pl.col("time_limit") if "time_limit" in rows.columns else pl.lit(None, pl.Float64)
    given = pl.when(limit > 0).then(limit).otherwise(pl.lit(agent_budget_s, pl.Float64))
    wall_s = (pl.col("completed_at") - pl.col("started_at")) / 1000
    failed = _column(rows, "fatal_error_from").is_in(THEIR_ERRORS)
    tokens = _column(rows, "tokens_count", pl.Float64)
    counts = {name: counts_of(name) for name in rows["environment"].unique().to_list()}
    frame = rows.with_columns(budget_s=pl.when(human).then(HUMAN_BUDGET_S).otherwise(given))
    _require_budget(path, frame)
    found = frame.select(
        attempt=pl.col("run_id"),
        environment=pl.col("environment"),
        version=pl.lit("published"),
        profile=pl.lit("full"),
        anchors=pl.lit("published"),
        isolation=pl.lit("published"),
        source=pl.lit("metr"),
        solver=pl.when(human).then(pl.lit("human experts")).otherwise(pl.col("alias")),
        kind=pl.when(human).then(pl.lit("human")).otherwise(pl.lit("agent")),
        model=_column(rows, "model").fill_null(""),
        counts=pl.col("environment").replace_strict(counts, return_dtype=pl.String),
        budget_s=pl.col("budget_s"),
        length_s=pl.col("budget_s"),
        working_s=pl.when(human).then(wall_s).otherwise(pl.col("budget_s")),
        ended=pl.when(failed).then(pl.lit("error")).otherwise(pl.lit("budget")),
        score=pl.col("score").clip(0.0),
        marks=pl.when(clipped & (pl.col("score") >= 1))
        .then(pl.lit("clipped"))
        .otherwise(pl.lit("")),
        left_out=pl.when(failed)
        .then(pl.lit("ended in an error of the harness"))
        .otherwise(pl.lit("")),
        output_tokens=tokens.cast(pl.Int64),
        cost_usd=pl.when(~human).then(_column(rows, "generation_cost", pl.Float64)),
        started_ms=pl.col("started_at").cast(pl.Int64),
        wall_s=wall_s,
        has_log=pl.lit(value=False),
    )
    return checked(Attempts(attempts=_complete(found), entries=ENTRY_SCHEMA.to_frame()))


def _require_budget(path: Path, frame: pl.DataFrame) -> None:
    if frame["budget_s"].null_count():
        raise TableError(
            f"{path}: says not how long agents had (no time_limit); say it with: --budget 8h"
        )


def _column(frame: pl.DataFrame, name: str, kind: type[pl.DataType] = pl.String) -> pl.Expr:
    return pl.col(name).cast(kind) if name in frame.columns else pl.lit(None, kind)


def _complete(frame: pl.DataFrame) -> pl.DataFrame:
    """Add the columns that the file has nothing for: "" where they are text, else null."""
    missing = [
        pl.lit("" if kind == pl.String else None, kind).alias(name)
        for name, kind in ATTEMPT_SCHEMA.items()
        if name not in frame.columns
    ]
    return frame.with_columns(missing).select(ATTEMPT_SCHEMA.names()).cast(ATTEMPT_SCHEMA)


def _notes(others: int, *, clipped: bool) -> tuple[str, ...]:
    notes = []
    if others:
        notes.append(f"{others} rows are runs of other tasks than RE-Bench's seven; not imported")
    if clipped:
        notes.append("scores are clipped to 0..1 in this file: those of 1 are marked 'clipped'")
    return tuple(notes)
