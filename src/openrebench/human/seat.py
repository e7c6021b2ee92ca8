"""Open an attempt for a person, or take it up again, and seat them at it."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from string import Template

from openrebench.core.attempt import Attempt, AttemptRecord, Ended, Solver, read_attempt
from openrebench.core.catalog import load_environment
from openrebench.core.duration import format_duration
from openrebench.core.environment import Environment
from openrebench.core.reading import attempt_facts
from openrebench.core.seed import Seed
from openrebench.core.workspace import instructions, stage
from openrebench.errors import AttemptError, ReBenchError
from openrebench.human.clock import Clock, read_clock
from openrebench.human.desk import clock_face
from openrebench.human.recording import Recording
from openrebench.human.sandbox import freezes
from openrebench.human.session import Session
from openrebench.human.terminal import Terminal
from openrebench.isolation.layout import NAMESPACE_MODES
from openrebench.isolation.local import LocalRunner
from openrebench.sandbox.config import remove_leftovers

BRIEFING = Path(__file__).with_name("briefing.md")
ENDS = "ends all that you run"
RECORD = "record"  # setting of a solver: whether its terminal is recorded
Say = Callable[[str], None]


@dataclass(frozen=True, kw_only=True)
class Person:
    """Who attempts, as far as a record needs to know.

    Args:
        name: A pseudonym; nothing else about the person is kept.
        expert: Whether they are an expert of the field, if that is known.
    """

    name: str = "human"
    expert: bool | None = None


def start_attempt(
    environment: Environment,
    runner: LocalRunner,
    *,
    profile: str,
    budget_s: float,
    root: Path,
    person: Person,
    record: bool = False,
) -> Attempt:
    """Stage a workspace for a person and score the starting solution; nobody's clock runs.

    Raises:
        ReBenchError: The environment can't run here, or no sandbox for a person can.
    """
    _check(environment, profile, runner)
    facts = attempt_facts(environment.card, profile)
    attempt = Attempt.create(
        root,
        environment,
        runner,
        profile=profile,
        solver=Solver(
            kind="human", name=person.name, settings={"expert": person.expert, RECORD: record}
        ),
        time_budget_s=budget_s,
        facts={**facts, "limits": {**facts["limits"], "charge_scoring": True}},
    )
    try:
        stage(environment, profile, attempt.workspace, seed=Seed.fresh())
        attempt.score(attempt.workspace, lambda: 0.0)
    except BaseException:
        attempt.close()
        raise
    return attempt


def reopen_attempt(folder: Path, runner: LocalRunner) -> Attempt:
    """Take up an attempt that a person has left, or whose runner died.

    Raises:
        AttemptError: It is no person's, has ended, never began, is at work elsewhere, or was begun
            with another version or on another machine.
    """
    record = read_attempt(folder).record
    environment = load_environment(record.environment)
    problem = _why_not_again(folder, record, environment)
    if problem:
        raise AttemptError(f"{folder}: {problem}")
    _check(environment, record.profile, runner)
    attempt = Attempt(folder, environment, runner)
    found = read_clock(folder)
    attempt.resume(found.used_s if found else 0.0)
    return attempt


def _why_not_again(folder: Path, record: AttemptRecord, environment: Environment) -> str | None:
    card = environment.card
    here = attempt_facts(card, record.profile)["device"]
    if record.solver.kind != "human" or record.time_budget_s is None:
        return "was not begun with re-bench human start"
    if record.ended not in (None, "interrupted"):
        return f"has ended ({record.ended}); begin another with re-bench human start"
    if not read_attempt(folder).entries:
        return "its start was never scored, so nobody has worked at it; begin another"
    if record.environment_version != card.version:
        return f"began with version {record.environment_version}; this is {card.version}"
    if record.device != here:
        return f"began on {record.device}, and this is {here}: scores would not be comparable"
    return None


def _check(environment: Environment, profile: str, runner: LocalRunner) -> None:
    reason = environment.unavailable(environment.card.profile(profile))
    if reason is not None:
        raise ReBenchError(f"{environment.card.label(profile)} can't run here: {reason}")
    if runner.mode not in NAMESPACE_MODES:
        raise ReBenchError(
            f"a person's sandbox needs bubblewrap, and the mode here is '{runner.mode}'; "
            "see re-bench doctor"
        )


def seat(attempt: Attempt, terminal: Terminal, say: Say, wait: Callable[[], None]) -> Ended | None:
    """Let a person work at an attempt until it ends or they leave it; gives how it ended.

    Args:
        attempt: From one of the two functions above.
        terminal: The person's.
        say: Shows the person a line.
        wait: Waits until they are ready.
    """
    remove_leftovers()
    clock = Clock(attempt)
    say(f"the clock starts when you press Enter; {clock_face(clock.left_s())} of working time left")
    wait()
    with terminal:
        if attempt.record.solver.settings.get(RECORD):
            terminal.recording = Recording(attempt.folder, terminal.size, terminal.kind)
        return Session(attempt, clock, terminal, briefing(attempt)).run()


def briefing(attempt: Attempt) -> str:
    """Give the text that a person starts from: the environment's instructions, and the commands."""
    environment, record = attempt.environment, attempt.record
    device = environment.card.profile(record.profile).device
    return Template(BRIEFING.read_text(encoding="utf-8")).substitute(
        instructions=instructions(environment, record.profile),
        budget=format_duration(record.time_budget_s or 0),
        pausing="all that you run" if freezes(device) else ENDS,
        still="; all that you run stands still meanwhile" if environment.card.score.is_time else "",
        counts=environment.card.score.counts,
    )
