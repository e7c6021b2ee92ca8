"""One sitting of a person at an attempt: shell, clock and desk, from opening to leaving.

Three threads share it. The main one carries bytes between the person's terminal and the shell and
pauses; the timekeeper lets the clock beat and ends the attempt when time is up, whatever the
terminal does; the desk's threads answer the shell's commands. What stops the sandbox (a score, a
pause, the end) holds `_still`, so that these follow one another.
"""

import contextlib
import itertools
import signal
import threading
from collections.abc import Iterator
from types import FrameType
from typing import NamedTuple

from openrebench.core.attempt import Attempt, Ended
from openrebench.core.card import Profile
from openrebench.core.score_log import ScoreEntry
from openrebench.core.service import Door, Entrance, Refused, open_door
from openrebench.errors import AttemptError, RunnerUnavailable
from openrebench.harness.budget import MAX_DISK_BYTES
from openrebench.harness.disk import DiskWatch
from openrebench.human.clock import Clock
from openrebench.human.desk import Desk, clock_face, time_text
from openrebench.human.relay import Relay
from openrebench.human.sandbox import PersonSandbox, Tools
from openrebench.human.terminal import CLEAR, ENTER, LEAVE, Terminal, TerminalLost
from openrebench.human.timekeeper import Timekeeper
from openrebench.isolation.device import exclusive

TIME_UP = "time is up: the attempt has ended"
CANT_FREEZE = (
    "a GPU can't be made to stand still, so that a pause ends all that you run; "
    "if that is all right: pause --end REASON"
)
NOT_STILL = (
    "not paused: something in the sandbox could not be made to stand still; try again, or end "
    "all that you run: pause --end REASON"
)
WAITING = "another attempt is being scored; the clock stands until yours is"
SERVICE_BUSY = "waiting for what the metered service has begun; the clock runs"
LONG_S = 3.0
SIGNALS = (signal.SIGHUP, signal.SIGTERM, signal.SIGINT)
MOST_RESTARTS = 5


class Pause(NamedTuple):
    """A pause that was asked for: why, and whether it ends what runs instead of freezing it."""

    reason: str
    ends: bool


class Session:
    """A sitting; `run` is all of it.

    Args:
        attempt: Staged, with its starting solution scored.
        clock: Stopped.
        terminal: The person's, entered.
        briefing: What the person may read.
    """

    def __init__(self, attempt: Attempt, clock: Clock, terminal: Terminal, briefing: str) -> None:
        self.attempt, self.clock, self.briefing = attempt, clock, briefing
        self.ended: Ended | None = None
        self._open = True
        self._terminal = terminal
        self._tools = Tools()
        self._sandbox = PersonSandbox(
            attempt.environment.card,
            attempt.record.profile,
            attempt.workspace,
            self._tools,
            terminal.env,
            attempt.runner.mode,
        )
        self._still = threading.RLock()
        self._relay = Relay(terminal, self._sandbox)
        self._service: Entrance | None = None
        self._restarts = 0
        self._asked: Pause | None = None
        self._leave_reason: str | None = None

    def run(self) -> Ended | None:
        """Let the person work until the attempt ends or they leave; gives how it ended."""
        keeper = Timekeeper(self.clock, self, DiskWatch(self.attempt.workspace, MAX_DISK_BYTES))
        try:
            with self._doors(), self._signals():
                self._sandbox.open()
                self.clock.start("the person sat down")
                keeper.start()
                self._attend()
        except BaseException as error:
            self._leave(f"{type(error).__name__}: {error}")
            raise
        finally:
            keeper.stop()
            self._sandbox.dispose()
            self._tools.remove()
            self._relay.close()
        return self.ended

    # What the desk asks for, from its own threads.

    def score(self) -> ScoreEntry:
        """Score the workspace; counts from now, however long it takes."""
        requested_at_s = self.clock.used_s()
        if requested_at_s >= self.clock.budget_s:
            raise Refused(TIME_UP)
        with self._still:
            if not self._open:
                raise Refused(TIME_UP)
            readings = itertools.chain([requested_at_s], iter(self.clock.used_s, None))
            with self._standing_still() as still:
                if still and self._sandbox.can_freeze:  # waiting for others is not their time
                    with self.clock.held(), self._explained(WAITING), exclusive():
                        pass
                if not self.attempt.environment.card.score.is_time:
                    self._sandbox.thaw()
                return self.attempt.score(self.attempt.workspace, lambda: next(readings))

    def ask_for_pause(self, reason: str, *, may_end: bool) -> str:
        """Let the main thread pause."""
        if not (self._sandbox.can_freeze or may_end):
            raise Refused(CANT_FREEZE)
        self._asked = Pause(reason, may_end)
        self._relay.wake()
        return "pausing ..."

    def submit(self) -> str:
        """End the attempt; the sandbox and who asked end with it."""
        self.finish("submitted")
        return "submitted"

    # What the timekeeper and the desk cause.

    def finish(self, ended: Ended) -> None:
        """End the attempt, once; a score that is being taken is finished first."""
        self._close_service()  # a pause may be waiting for it
        with self._still:
            if not self._open:
                return
            self._open, self.ended = False, ended
            try:
                self._sandbox.close()
            finally:
                self.clock.stop("ended", ended)
                self.attempt.end(ended, self.clock.beat())
                self._relay.wake()

    def tell(self, text: str) -> None:
        """Show a line to the person soon."""
        self._relay.tell(text)

    def show_left(self) -> None:
        """Let the prompt know the time."""
        self._tools.show_left(clock_face(self.clock.left_s()))

    # The main thread.

    def _attend(self) -> None:
        """Serve the terminal until there is nothing to serve."""
        try:
            while self.ended is None and self._leave_reason is None:
                if not self._relay.serve_once() and self._open:
                    self._reopen()
                if self._asked is not None:
                    asked, self._asked = self._asked, None
                    self._pause(asked)
        except TerminalLost:
            self._leave_reason = "the terminal was lost"
        self._leave(self._leave_reason or "left")

    def _reopen(self) -> None:
        """Open a new sandbox in place of one that has ended by itself."""
        with self._still:
            if not self._open:
                return
            self._restarts += 1
            if self._restarts > MOST_RESTARTS:
                raise RunnerUnavailable("the sandbox keeps ending; start again with: human resume")
            self._relay.drop_shell()
            self._sandbox.open()
        self._terminal.notice("the sandbox had ended; this is a new one, with your workspace")

    # Pausing, leaving.

    def _pause(self, asked: Pause) -> None:
        """Stop everything, then the clock, until the person comes back or leaves."""
        with self._still:
            if asked.ends:
                self._sandbox.close()
            elif not self._sandbox.freeze():
                self._sandbox.thaw()
                self._terminal.notice(NOT_STILL)
                return
            with self._quiet_service():
                if not self._open or self.clock.left_s() == 0:
                    return  # then the attempt ends, and what stands still with it
                self.clock.stop("paused", asked.reason)
                if not self._wait_for_return(asked.reason):
                    return
                self.clock.start("the person came back")
            if asked.ends:
                self._relay.drop_shell()
                self._sandbox.open()
            else:
                self._sandbox.thaw()
        self._terminal.notice(f"going on; {time_text(self.clock)}")

    @contextlib.contextmanager
    def _quiet_service(self) -> Iterator[None]:
        """Wait until the metered service computes nothing for us, and keep it so."""
        if self._service is None:
            yield
            return
        self._terminal.notice(SERVICE_BUSY)
        with self._service.quiet():
            yield

    def _close_service(self) -> None:
        if self._service is not None:
            self._service.close()

    def _wait_for_return(self, reason: str) -> bool:
        """Hide the work and wait for a key; gives whether the person goes on."""
        self._terminal.forget()
        self._terminal.show(CLEAR)
        self._terminal.notice(
            f"paused: {reason}\n{time_text(self.clock)}; nothing runs in the sandbox\n"
            "Enter goes on; q leaves (that ends your processes): human resume continues later"
        )
        while self._leave_reason is None:
            typed = self._relay.wait_for_key()
            if any(key in LEAVE for key in typed):
                self._leave_reason = "the person left"
            elif any(key in ENTER for key in typed):
                return True
        return False

    def _leave(self, reason: str) -> None:
        """Unless the attempt has ended, end the sandbox and stop the clock: it can be resumed."""
        with self._still:
            if not self._open:
                return
            self._open = False
            self._sandbox.close()
            if self.clock.running:
                self.clock.stop("paused", reason)
            self.attempt.end("interrupted", self.clock.beat())

    # Setting up.

    @contextlib.contextmanager
    def _doors(self) -> Iterator[None]:
        """Open the shell's desk, and the metered service if the environment has one."""
        attempt = self.attempt
        profile = attempt.environment.card.profile(attempt.record.profile)
        with contextlib.ExitStack() as doors:
            doors.enter_context(Door(Desk(self), self._tools.folder))
            self._service = open_service(attempt, profile)
            if self._service is not None:
                doors.enter_context(self._service)
            yield

    @contextlib.contextmanager
    def _signals(self) -> Iterator[None]:
        """Let signals that mean an end stop the clock properly, and size changes wake us."""
        before = {number: signal.signal(number, self._asked_to_go) for number in SIGNALS}
        before[signal.SIGWINCH] = signal.signal(signal.SIGWINCH, lambda *_: self._relay.wake())
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    def _asked_to_go(self, number: int, _: FrameType | None) -> None:
        self._leave_reason = f"the runner got {signal.Signals(number).name}"
        self._close_service()
        self._relay.wake()

    @contextlib.contextmanager
    def _explained(self, text: str) -> Iterator[None]:
        """Tell the person why it takes long, if it does."""
        timer = threading.Timer(LONG_S, self._relay.tell, (text,))
        timer.start()
        try:
            yield
        finally:
            timer.cancel()

    @contextlib.contextmanager
    def _standing_still(self) -> Iterator[bool]:
        """Freeze the sandbox for a while, if that can be done; gives whether it stands still."""
        try:
            yield self._sandbox.freeze()
        finally:
            self._sandbox.thaw()


def open_service(attempt: Attempt, profile: Profile) -> Entrance | None:
    """Open the door of the attempt's metered service, if its environment has one.

    Raises:
        AttemptError: The person has put something else in the place of its socket.
    """
    try:
        return open_door(attempt.environment, profile, attempt.folder, attempt.workspace)
    except OSError as error:
        raise AttemptError(
            f"{attempt.workspace}: the service's socket can't be made ({error.strerror}); "
            "move away what has its name"
        ) from error
