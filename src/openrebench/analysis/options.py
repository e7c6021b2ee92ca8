"""The choices behind an analysis, all of which a report prints."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from openrebench.analysis.best_of_k import Estimator

Flagged = Literal["failure", "drop", "as_scored"]
HOUR_S = 3600.0


@dataclass(frozen=True, kw_only=True)
class Options:
    """Choices of an analysis.

    Args:
        estimator: Of score@k; "unbiased" falls back on plug-in where k > n, visibly.
        resamples: Bootstrap resamples behind every interval.
        seed: Of the bootstrap.
        resample_environments: Draw environments anew too, instead of attempts only.
        flagged: What an attempt with an integrity finding is: a failure (0), dropped, or as scored.
        official: Use re-scored results instead of in-run ones; attempts without are left out.
        truncate: Let an attempt with a score log inform all budgets shorter than its own.
        max_hours: Human attempts that took longer are marked `over_time` and left out.
        max_score: Imported scores from here on are marked `implausible` and left out.
        keep_marked: Let marked attempts count after all.
        present_only: Average over the environments that have attempts where some have none.
        token_prices: Model to US dollars for a million input and a million output tokens.
        gpu_hour_usd: Price of a GPU hour; 0 leaves GPUs out, as the paper does.
        human_attempt_usd: Paid for a human's attempt; None draws no human cost curve.
        suite: Name of the list of environments that aggregates are over.
        where: Column of the table of attempts to the value it must have.
    """

    estimator: Estimator = "unbiased"
    resamples: int = 1000
    seed: int = 0
    resample_environments: bool = False
    flagged: Flagged = "failure"
    official: bool = False
    truncate: bool = True
    max_hours: float = 9.0
    max_score: float = 3.5
    keep_marked: bool = False
    present_only: bool = False
    token_prices: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    gpu_hour_usd: float = 0.0
    human_attempt_usd: float | None = None
    suite: str = "all"
    where: Mapping[str, str] = field(default_factory=dict)
