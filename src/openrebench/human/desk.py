"""What a person's shell can ask of the trusted side, and what it is told."""

from collections.abc import Callable
from typing import NamedTuple, Protocol, final

from openrebench.core.attempt import Attempt
from openrebench.core.duration import format_duration
from openrebench.core.reading import counting_so_far
from openrebench.core.result import Outcome
from openrebench.core.score_log import ScoreEntry
from openrebench.core.service import Journal, Refused, Request, Service
from openrebench.harness.feedback import describe, describe_log
from openrebench.human.clock import Clock

NOTES = "notes.jsonl"
MAX_TEXT, MAX_NOTES_BYTES = 2000, 1 << 20
EXIT = {Outcome.SCORED: 0, Outcome.INVALID: 3, Outcome.ERROR: 4}


class Room(Protocol):
    """The session that the desk belongs to."""

    attempt: Attempt
    clock: Clock
    briefing: str

    def score(self) -> ScoreEntry:
        """Score the workspace as it is now."""

    def ask_for_pause(self, reason: str, *, may_end: bool) -> str:
        """Let the clock stop soon; gives what to tell the person, or raises `Refused`."""

    def submit(self) -> str:
        """End the attempt."""


class Answer(NamedTuple):
    """A text for the person, and the command's exit status."""

    text: str
    code: int = 0


@final
class Desk(Service):
    """Answers the commands of the shell. All of them are for the attempt's own person."""

    name = "desk"

    def __init__(self, room: Room) -> None:
        super().__init__(Journal(room.attempt.folder / NOTES))
        self._room = room
        self._commands: dict[str, Callable[[str], Answer]] = {
            "score": self._score,
            "score_log": self._log,
            "log": self._log,
            "note": self._note,
            "time_left": self._time,
            "pause": self._pause,
            "submit": self._submit,
            "instructions": lambda _: Answer(room.briefing),
            "standing": self._standing,
        }

    def answer(self, request: Request) -> Request:
        """Answer one command (see the base class)."""
        command = self._commands.get(str(request.get("do")))
        if command is None:
            raise Refused(f"there is no such command; there are: {', '.join(self._commands)}")
        text = plain(str(request.get("text", "")))
        if len(text) > MAX_TEXT:
            raise Refused(f"a text may have {MAX_TEXT} characters; this has {len(text)}")
        return command(text)._asdict()

    def _score(self, _: str) -> Answer:
        entry = self._room.score()
        record, card = self._room.attempt.record, self._room.attempt.environment.card
        text = describe(card, record.profile, record.device, entry)
        return Answer(f"{text}\n{time_text(self._room.clock)}", EXIT[entry.outcome])

    def _log(self, _: str) -> Answer:
        attempt = self._room.attempt
        record, card = attempt.record, attempt.environment.card
        return Answer(describe_log(card, record.profile, record.device, attempt.log.entries))

    def _note(self, text: str) -> Answer:
        if not text:
            raise Refused("say what to note: note TEXT")
        if self._room_for_notes() < len(text):
            raise Refused("the attempt's notes are full")
        self.journal.append({"used_s": round(self._room.clock.used_s(), 3), "text": text})
        return Answer("noted")

    def _room_for_notes(self) -> int:
        path = self.journal.path
        return MAX_NOTES_BYTES - (path.stat().st_size if path.exists() else 0)

    def _time(self, _: str) -> Answer:
        return Answer(time_text(self._room.clock))

    def _pause(self, text: str) -> Answer:
        first, _, rest = text.partition(" ")
        may_end = first == "--end"
        reason = rest.strip() if may_end else text
        if not reason:
            raise Refused("say why: pause REASON")
        return Answer(self._room.ask_for_pause(reason, may_end=may_end))

    def _submit(self, _: str) -> Answer:
        return Answer(self._room.submit())

    def _standing(self, _: str) -> Answer:
        return Answer(standing(self._room.attempt))


def plain(text: str) -> str:
    r"""Leave out what can't be printed: the record is read in terminals of others.

    Example:
        >>> plain("lunch \x1b]0;owned\x07 ")
        'lunch ]0;owned'
    """
    return "".join(letter for letter in text if letter.isprintable()).strip()


def time_text(clock: Clock) -> str:
    """Say how much time is used and left."""
    budget = format_duration(clock.budget_s)
    return f"{clock_face(clock.used_s())} used, {clock_face(clock.left_s())} left of {budget}"


def clock_face(seconds: float) -> str:
    """Write a duration for people, to the second.

    Example:
        >>> clock_face(27_125), clock_face(59.9)
        ('7h32m05s', '59s')
    """
    hours, rest = divmod(int(seconds), 3600)
    minutes, rest = divmod(rest, 60)
    if hours:
        return f"{hours}h{minutes:02}m{rest:02}s"
    return f"{minutes}m{rest:02}s" if minutes else f"{rest}s"


def standing(attempt: Attempt) -> str:
    """Say which score counts so far."""
    record, card = attempt.record, attempt.environment.card
    entry = counting_so_far(card, record, attempt.log.entries)
    if entry is None:
        return f"none of {len(attempt.log.entries)} score calls was valid"
    what = describe(card, record.profile, record.device, entry).partition("\n")[0]
    return f"counting so far: score call {entry.seq} at {clock_face(entry.requested_at_s)}, {what}"
