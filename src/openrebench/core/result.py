"""The outcome of one score call."""

import math
from collections.abc import Mapping
from datetime import UTC, datetime
from enum import StrEnum
from typing import Self

from pydantic import BaseModel, ConfigDict, Field, JsonValue, model_validator

from openrebench.errors import Reason


class Outcome(StrEnum):
    """Three outcomes, never a sentinel number."""

    SCORED = "scored"
    INVALID = "invalid"
    ERROR = "error"


class ScoreResult(BaseModel):
    """What one score call found.

    Attributes:
        raw: Raw score in `unit`; None unless the outcome is `scored`.
        reason: Why the submission is invalid; None unless the outcome is `invalid`.
        message: One sentence that the solver may read.
        details: For the log only.
        environment: Label such as `prefix_sum@1.0.0/small`.
        submission: SHA-256 of the scored files; empty when none could be read.
        seed_commitment: SHA-256 of the secret seed.
        isolation: Isolation mode the submission ran in.
        scored_at: When scoring ended, UTC.
        seconds: Wall time of the whole score call.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    outcome: Outcome
    raw: float | None = None
    unit: str
    reason: Reason | None = None
    message: str
    details: Mapping[str, JsonValue] = Field(default_factory=dict)
    flags: tuple[str, ...] = ()
    environment: str
    submission: str
    seed_commitment: str
    isolation: str
    scored_at: datetime = Field(default_factory=lambda: datetime.now(UTC))
    seconds: float

    @model_validator(mode="after")
    def _one_outcome(self) -> Self:
        scored = self.outcome is Outcome.SCORED
        if scored != (self.raw is not None and math.isfinite(self.raw)):
            raise ValueError("a raw score belongs to the outcome 'scored', finite, and to no other")
        if (self.outcome is Outcome.INVALID) != (self.reason is not None):
            raise ValueError("a reason belongs to the outcome 'invalid' and to no other")
        return self
