"""The solver's judge: the scorer's own, on dev questions only, with every comparison counted."""

from collections.abc import Mapping
from threading import Lock
from typing import cast, final

from openrebench.core.card import Profile
from openrebench.core.service import Journal, Refused, Request, Row, Service
from openrebench.environments.gpt2_qa import sources
from openrebench.environments.gpt2_qa.judging import Comparison, Judge, preferences

MOST = 64  # comparisons of a request
KEYS = {"question", "first", "second"}
MAX_TOKENS = 60


@final
class MeteredJudge(Service):
    """Compares two answers to a dev question, up to a number of comparisons in an attempt.

    Args:
        profile: Whose questions, judge and limit.
        journal: The attempt's.
        judge: Who prefers; the profile's if None.
    """

    name = "judge"

    def __init__(self, profile: Profile, journal: Journal, *, judge: Judge | None = None) -> None:
        super().__init__(journal)
        self._profile, self._judge = profile, judge
        self._questions = [pair.question for pair in sources.pairs(profile, "dev")]
        self._limit = profile.integer("judge_calls")
        self._turn = Lock()

    def answer(self, request: Request) -> Request:
        """Compare answers; if nothing is asked, tell what is left.

        Args:
            request: `comparisons`, each with `question` (its number in prompts.jsonl), `first` and
                `second` (tokens of an answer).

        Returns:
            `preferred`: for each 1 (the first), 0 (the second) or 0.5 (a tie); `used` and `left`.

        Raises:
            Refused: The request is malformed, or asks for more than is left.
        """
        if not request:
            return self._left()
        with self._turn:
            comparisons = self._read(request)
            self._book(len(comparisons))
            try:
                preferred = self._preferred(comparisons)
            except BaseException:
                self.journal.append({"event": "failed", "comparisons": len(comparisons)})
                raise
        return {"preferred": [*preferred], **self._left()}

    def _book(self, count: int) -> None:
        """Charge comparisons before they are made; what is refused is noted, too."""

        def decide(rows: list[Row]) -> Row:
            allowed = used(rows) + count <= self._limit
            return {"event": "judged" if allowed else "refused", "comparisons": count}

        if self.journal.book(decide)["event"] == "refused":
            left = self._limit - used(self.journal.rows())
            raise Refused(f"{count} comparisons were asked for; {left} of {self._limit} are left")

    def _preferred(self, comparisons: list[Comparison]) -> list[float]:
        from openrebench.textbase.source import one_thread

        with one_thread():
            self._judge = self._judge or sources.judge(self._profile)
            ruled = bool(self._profile.parameters["ruled"])
            return preferences(self._judge, comparisons, ruled=ruled)

    def _read(self, request: Request) -> list[Comparison]:
        asked = request.get("comparisons")
        if set(request) != {"comparisons"} or not isinstance(asked, list):
            raise Refused("a request has the key 'comparisons' with a list, and nothing else")
        if not 1 <= len(asked) <= MOST:
            raise Refused(f"a request has from 1 to {MOST} comparisons; this one has {len(asked)}")
        texts = sources.texts(self._profile)
        tokens = [_comparison(row, len(self._questions), texts.size) for row in asked]
        return [
            Comparison(self._questions[n], texts.said(first), texts.said(second))
            for n, first, second in tokens
        ]

    def _left(self) -> Row:
        spent = used(self.journal.rows())
        return {"used": spent, "left": self._limit - spent}


def used(rows: list[Row]) -> int:
    """Add up the comparisons that were allowed and did not fail by our fault."""
    return _total(rows, "judged") - _total(rows, "failed")


def beyond(rows: list[Row]) -> int:
    """Add up the comparisons that were asked for and not allowed."""
    return _total(rows, "refused")


def _total(rows: list[Row], event: str) -> int:
    return sum(cast("int", row["comparisons"]) for row in rows if row["event"] == event)


def _comparison(row: object, questions: int, size: int) -> tuple[int, list[int], list[int]]:
    if not isinstance(row, Mapping) or set(row) != KEYS:
        raise Refused(f"a comparison has exactly the keys {', '.join(sorted(KEYS))}")
    number = row["question"]
    if not _is_below(number, questions):
        raise Refused(f"question must be a number of prompts.jsonl, from 0 to {questions - 1}")
    return number, _tokens(row["first"], size), _tokens(row["second"], size)


def _tokens(answer: object, size: int) -> list[int]:
    if not isinstance(answer, list) or len(answer) > MAX_TOKENS:
        raise Refused(f"an answer is a list of at most {MAX_TOKENS} tokens")
    if not all(_is_below(token, size) for token in answer):
        raise Refused(f"a token must be an integer from 0 to {size - 1}")
    return answer


def _is_below(value: object, limit: int) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < limit
