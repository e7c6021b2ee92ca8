"""What an attempt has used: time, tokens, calls, money, GPU time. Kept beside its score log.

    attempts/<id>/accounts.json    replaced about once a second while the attempt runs

Whoever reads it after a crash adds `BEAT_S`: more can't be missing, so a crash gives no time away.
"""

import threading
from collections import Counter
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal, Protocol

from pydantic import BaseModel, ConfigDict, Field, ValidationError, computed_field

from openrebench.core.attempt import StoredAttempt, Usage
from openrebench.harness.budget import Used

FILE_NAME = "accounts.json"
BEAT_S = 1.0
HOUR_S = 3600.0


class ModelUsed(Protocol):
    """What calls of a model used, as Inspect tells it."""

    input_tokens: int
    output_tokens: int
    input_tokens_cache_read: int | None
    input_tokens_cache_write: int | None
    total_cost: float | None


class ModelAccount(BaseModel):
    """What was used of one model.

    Attributes:
        calls: Calls sent to its provider, also those that failed or were limited away.
        input_tokens: All tokens read, also those that a cache made cheaper.
        cost_usd: None where the price is unknown.
    """

    model_config = ConfigDict(frozen=True)

    calls: int = 0
    input_tokens: int = 0
    cached_tokens: int = 0
    output_tokens: int = 0
    cost_usd: float | None = 0.0

    def plus(self, used: ModelUsed) -> "ModelAccount":
        """Add what a session used."""
        cached = used.input_tokens_cache_read or 0
        fresh = used.input_tokens + (used.input_tokens_cache_write or 0)
        known = self.cost_usd is not None and used.total_cost is not None
        return ModelAccount(
            calls=self.calls,
            input_tokens=self.input_tokens + fresh + cached,
            cached_tokens=self.cached_tokens + cached,
            output_tokens=self.output_tokens + used.output_tokens,
            cost_usd=(self.cost_usd or 0.0) + (used.total_cost or 0.0) if known else None,
        )


class Accounts(BaseModel):
    """The accounts of one attempt over all its sessions.

    Attributes:
        sessions: How often it was begun or resumed.
        scoring_s: Seconds spent in score calls, the starting solution's included.
        gpu_s: GPUs times the wall seconds for which the attempt held them; None if unknown.
        models: By name.
    """

    model_config = ConfigDict(frozen=True)

    schema_version: Literal[1] = 1
    updated_at: datetime = Field(default_factory=lambda: datetime.now(UTC))
    sessions: int = 1
    time_budget_s: float | None = None
    working_s: float = 0.0
    wall_s: float = 0.0
    scoring_s: float = 0.0
    score_calls: int = 0
    gpu_s: float | None = 0.0
    models: Mapping[str, ModelAccount] = Field(default_factory=dict)

    @computed_field  # type: ignore[prop-decorator]
    @property
    def model_calls(self) -> int:
        """Calls of all models."""
        return sum(model.calls for model in self.models.values())

    @computed_field  # type: ignore[prop-decorator]
    @property
    def input_tokens(self) -> int:
        """Tokens that all models read."""
        return sum(model.input_tokens for model in self.models.values())

    @computed_field  # type: ignore[prop-decorator]
    @property
    def output_tokens(self) -> int:
        """Tokens that all models wrote."""
        return sum(model.output_tokens for model in self.models.values())

    @computed_field  # type: ignore[prop-decorator]
    @property
    def unpriced(self) -> tuple[str, ...]:
        """Models whose price is unknown, so that what they cost is not in `known_cost_usd`."""
        return tuple(name for name, model in self.models.items() if model.cost_usd is None)

    @computed_field  # type: ignore[prop-decorator]
    @property
    def known_cost_usd(self) -> float:
        """What the models with a price cost."""
        return sum(model.cost_usd or 0.0 for model in self.models.values())

    @computed_field  # type: ignore[prop-decorator]
    @property
    def cost_usd(self) -> float | None:
        """What all models cost, None if one has no price."""
        return None if self.unpriced else self.known_cost_usd

    @computed_field  # type: ignore[prop-decorator]
    @property
    def score_calls_per_hour(self) -> float | None:
        """Score calls of the solver per hour of work; None before it has worked."""
        calls = max(0, self.score_calls - 1)  # the first is the starting solution's
        return HOUR_S * calls / self.working_s if self.working_s else None

    def usage(self) -> Usage:
        """Give what an attempt's record says of its use."""
        return Usage(
            model_calls=self.model_calls,
            input_tokens=self.input_tokens,
            output_tokens=self.output_tokens,
            cost_usd=self.cost_usd,
            working_s=self.working_s,
            wall_s=self.wall_s,
            gpu_s=self.gpu_s,
        )

    def used(self) -> Used:
        """Give what the limits of a resumed attempt are lowered by."""
        tokens = self.input_tokens + self.output_tokens
        return Used(
            working_s=self.working_s,
            wall_s=self.wall_s,
            tokens=tokens,
            cost_usd=self.known_cost_usd,
        )


class Book:
    """The accounts of a running attempt.

    Args:
        earlier: Accounts of its earlier sessions.
        usage: What this session uses of each model; whoever counts it goes on to change it.
    """

    def __init__(self, earlier: Accounts, usage: Mapping[str, ModelUsed]) -> None:
        self._earlier = earlier
        self._usage = usage
        self._lock = threading.Lock()
        self._calls: Counter[str] = Counter()

    def call(self, model: str) -> None:
        """Count a call that is about to be sent."""
        with self._lock:
            self._calls[model] += 1

    def accounts(self, **facts: float | None) -> Accounts:
        """Give the accounts as they stand, with what is measured anew each time."""
        with self._lock:
            calls = Counter(self._calls)
        models = {
            name: model.model_copy(update={"calls": model.calls + calls.pop(name, 0)})
            for name, model in self._models().items()
        }
        models |= {name: ModelAccount(calls=count) for name, count in calls.items()}
        return self._earlier.model_copy(
            update={"updated_at": datetime.now(UTC), "models": models, **facts}
        )

    def _models(self) -> dict[str, ModelAccount]:
        models = dict(self._earlier.models)
        for name, used in dict(self._usage).items():
            models[name] = models.get(name, ModelAccount()).plus(used)
        return models


def write_accounts(folder: Path, accounts: Accounts) -> None:
    """Replace an attempt's accounts at once: a crash leaves the old ones or the new ones."""
    part = folder / f".{FILE_NAME}.part"
    part.write_text(accounts.model_dump_json(indent=1) + "\n", encoding="utf-8")
    part.rename(folder / FILE_NAME)


def read_accounts(folder: Path) -> Accounts | None:
    """Read an attempt's accounts; None where there are none, or none that can be read."""
    try:
        return Accounts.model_validate_json((folder / FILE_NAME).read_text(encoding="utf-8"))
    except (OSError, ValidationError):
        return None


def accounts_so_far(attempt: StoredAttempt) -> Accounts:
    """Give the accounts of an attempt that is about to be resumed.

    After a crash the last beat is missing, and the accounts may be from before the last score.
    """
    noted = read_accounts(attempt.folder) or Accounts(time_budget_s=attempt.record.time_budget_s)
    missing_s = BEAT_S if attempt.record.ended is None and attempt.entries else 0.0
    last_s = attempt.entries[-1].elapsed_s if attempt.entries else 0.0
    return noted.model_copy(
        update={
            "sessions": noted.sessions + 1,
            "working_s": max(noted.working_s + missing_s, last_s),
            "wall_s": max(noted.wall_s + missing_s, last_s),
        }
    )
