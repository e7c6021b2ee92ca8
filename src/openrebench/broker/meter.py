"""Count calls, tokens and dollars, and refuse what goes beyond a cap.

A call is booked before the model is asked, at the most that it can cost; when the answer is
there, what it did cost counts instead. So calls that race each other can't share an allowance,
and a call whose answer was never written down stays booked in full.
"""

import threading
from dataclasses import dataclass, field
from typing import NamedTuple, cast

from pydantic import BaseModel, ConfigDict, Field, JsonValue

from openrebench.broker.wire import Refusal
from openrebench.core.service import Journal, Request, Row

PER_MILLION = 1e-6


class Prices(BaseModel):
    """US dollars for a million tokens."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    prompt_usd: float = Field(ge=0, default=0.0)
    completion_usd: float = Field(ge=0, default=0.0)

    def usd(self, prompt_tokens: int, completion_tokens: int) -> float:
        """Price a call.

        Example:
            >>> round(Prices(prompt_usd=0.5, completion_usd=1.5).usd(2_000_000, 1_000_000), 2)
            2.5
        """
        dollars = prompt_tokens * self.prompt_usd + completion_tokens * self.completion_usd
        return dollars * PER_MILLION


class Amounts(NamedTuple):
    """What calls cost, or may cost; tokens are those of prompts and completions together."""

    calls: float = 0
    tokens: float = 0
    usd: float = 0.0

    def plus(self, other: "Amounts", sign: int = 1) -> "Amounts":
        """Add, or take away."""
        return Amounts(*(a + sign * b for a, b in zip(self, other, strict=True)))

    def beyond(self, cap: "Amounts") -> str | None:
        """Name the first amount that is above its cap."""
        found = [f for f in self._fields if getattr(self, f) > getattr(cap, f) + 1e-9]
        return found[0] if found else None


class Cap(NamedTuple):
    """The most that one kind of session, or all together, may use."""

    name: str
    most: Amounts


@dataclass
class Meter:
    """Books calls in a journal, which may hold rows of other sessions and processes.

    Args:
        journal: The attempt's.
        session: Names the rows of this broker: the solver's workspace, or one score call.
        attempt_cap: Holds for all rows of the journal.
        session_cap: Holds for this session's.
    """

    journal: Journal
    session: str
    attempt_cap: Cap
    session_cap: Cap
    _read: int = 0
    _open: dict[JsonValue, Row] = field(default_factory=dict)
    _attempt: Amounts = field(default_factory=Amounts)
    _session: Amounts = field(default_factory=Amounts)
    _following: threading.Lock = field(default_factory=threading.Lock)

    def book(self, tokens: int, usd: float, facts: Request) -> JsonValue:
        """Book a call at the most it can cost; gives its number.

        Raises:
            Refusal: A cap would be passed.
        """

        def decide(rows: list[Row]) -> Row:
            self._follow(rows)
            for cap, used in self._caps():
                self._check(cap, used.plus(Amounts(1, tokens, usd)))
            number = sum(row["event"] == "asked" for row in rows)
            booked: Row = {"session": self.session, "tokens": tokens, "usd": round(usd, 6)}
            return {"event": "asked", "call": number, **booked, **facts}

        return self.journal.book(decide)["call"]

    def settle(self, call: JsonValue, tokens: int, usd: float, facts: Request) -> None:
        """Count what a call did cost."""
        row = {"event": "answered", "call": call, "tokens": tokens, "usd": round(usd, 6)}
        self.journal.append({**row, **facts})

    def refund(self, call: JsonValue, why: str) -> None:
        """Count nothing for a call that failed on our side."""
        self.journal.append({"event": "failed", "call": call, "text": why})

    def used(self) -> dict[str, dict[str, Amounts]]:
        """Tell what is used and what is allowed, of the attempt and of this session."""
        self._follow(self.journal.rows())
        return {cap.name: {"used": used, "most": cap.most} for cap, used in self._caps()}

    def _caps(self) -> list[tuple[Cap, Amounts]]:
        return [(self.attempt_cap, self._attempt), (self.session_cap, self._session)]

    def _check(self, cap: Cap, wanted: Amounts) -> None:
        over = wanted.beyond(cap.most)
        if over is None:
            return
        most = getattr(cap.most, over)
        raise Refusal(
            429,
            "insufficient_quota",
            f"this call could take the {cap.name} to {getattr(wanted, over):g} {over}; "
            f"its cap is {most:g}",
        )

    def _follow(self, rows: list[Row]) -> None:
        """Add up the rows that came since the last time."""
        with self._following:
            for row in rows[self._read :]:
                self._count(row)
            self._read = max(self._read, len(rows))

    def _count(self, row: Row) -> None:
        if row["event"] == "asked":
            self._open[row["call"]] = row
            self._add(row, _amounts(row))
        elif row["event"] in ("answered", "failed") and row["call"] in self._open:
            asked = self._open.pop(row["call"])
            self._add(asked, _amounts(asked), sign=-1)
            if row["event"] == "answered":
                self._add(asked, _amounts(row))

    def _add(self, asked: Row, amounts: Amounts, sign: int = 1) -> None:
        self._attempt = self._attempt.plus(amounts, sign)
        if asked["session"] == self.session:
            self._session = self._session.plus(amounts, sign)


def _amounts(row: Row) -> Amounts:
    return Amounts(1, cast("float", row["tokens"]), cast("float", row["usd"]))
