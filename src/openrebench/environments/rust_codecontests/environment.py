"""Score a scaffold: let it solve hidden problems in a sandbox, then judge its programs elsewhere.

Three places that never mix: the scaffold's sandbox (stripped problems, a broker's socket), the
judge's sandboxes (one program each, inputs only), and this side (expected outputs, verdicts).
"""

import json
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import final

from pydantic import JsonValue

from openrebench.broker.door import HttpDoor
from openrebench.core.card import Profile
from openrebench.core.environment import Environment, Measurement
from openrebench.core.seed import Seed
from openrebench.core.service import Journal, Service, scored_journal
from openrebench.environments.rust_codecontests import full, sources
from openrebench.environments.rust_codecontests.judge import CaseLimits, Judge, Kind, needs_compiler
from openrebench.environments.rust_codecontests.problems import Problem, as_columns
from openrebench.environments.rust_codecontests.provenance import Watched
from openrebench.environments.rust_codecontests.solving import Answer, facts, solve
from openrebench.errors import ScoringError
from openrebench.isolation.runner import Runner

WALL_FACTOR = 5  # a busy machine is not the program's fault
NO_PROGRAM, NOT_THE_MODELS = "no_program", "not_the_models"
SAID = {
    Kind.COMPILE_ERROR: "do not compile",
    Kind.WRONG_ANSWER: "give a wrong answer",
    Kind.CRASHED: "crash",
    Kind.TOO_SLOW: "are too slow",
    Kind.TOO_MUCH_OUTPUT: "print too much",
    NOT_THE_MODELS: "are not the model's",
    NO_PROGRAM: "are missing",
}


@final
class RustCodeContests(Environment):
    """Give the share of hidden problems that a scaffold's programs solve."""

    service_name = "broker"

    def unavailable(self, profile: Profile) -> str | None:
        """Say what is missing here: the compiler, the problems, or the model."""
        if problem := needs_compiler():
            return problem
        if sources.is_simulated(profile):
            return None
        return full.unavailable() or sources.missing_model(profile)

    def prepare(self, workspace: Path, profile: Profile, *, seed: Seed) -> None:
        """Add the dev problems to the workspace, with all their tests in a file of their own."""
        dev = sources.dev_problems(profile)
        stripped = [problem.stripped(**facts(profile)) for problem in dev]
        tests = {problem.name: as_columns(problem.tests) for problem in dev}
        (workspace / "dev.json").write_text(json.dumps(stripped, indent=1), encoding="utf-8")
        (workspace / "dev_tests.json").write_text(json.dumps(tests), encoding="utf-8")

    def service(self, profile: Profile, journal: Journal) -> Service:
        """Give the solver's own broker, which knows the dev problems (see `core.service`)."""
        model = sources.upstream(profile, "dev", sources.dev_problems(profile))
        return sources.broker(profile, journal, sources.WORKSPACE, model)

    def score(
        self, submission: Path, runner: Runner, profile: Profile, *, seed: Seed
    ) -> Measurement:
        """Give the share of the score split that is solved (see `Environment.score`)."""
        return self._score(submission, runner, profile, seed, "score")

    def score_final(
        self, submission: Path, runner: Runner, profile: Profile, *, seed: Seed
    ) -> Measurement:
        """Give the share of the final split that is solved, for the official score."""
        return self._score(submission, runner, profile, seed, "final")

    def _score(
        self, submission: Path, runner: Runner, profile: Profile, seed: Seed, split: str
    ) -> Measurement:
        if problem := self.unavailable(profile):
            raise ScoringError(f"{self.card.id} {problem}")
        found = sources.problems(profile, split, seed.rng("problems"))
        model = Watched(sources.upstream(profile, split, found))
        with _journal(scored_journal(self)) as journal:
            broker = sources.broker(profile, journal, sources.score_session(), model)
            answers = solve(submission, runner, profile, found, lambda w: HttpDoor(broker, w))
            usage = broker.usage()
        cpu_s = float(profile.parameters["cpu_limit_s"])
        judge = Judge(runner, CaseLimits(cpu_s=cpu_s, wall_s=WALL_FACTOR * cpu_s))
        ends = _judged(judge, found, answers, model)
        details: dict[str, JsonValue] = {
            "split": split,
            "model": sources.model_name(profile),
            "usage": usage,
        }
        details["notes"] = {p.key: a.note for p, a in zip(found, answers, strict=True) if a.note}
        return _measurement(found, ends, details, sources.unusual(profile, found))


@contextmanager
def _journal(attempts: Journal | None) -> Iterator[Journal]:
    """Give the attempt's journal, or one that lasts for this call."""
    if attempts is not None:
        yield attempts
        return
    with tempfile.TemporaryDirectory(prefix="openrebench-rust-journal-") as folder:
        yield Journal(Path(folder) / "broker.jsonl")


def _judged(
    judge: Judge, problems: Sequence[Problem], answers: Sequence[Answer], model: Watched
) -> list[str]:
    """Say of each problem how it ended; programs that are not the model's are not judged."""
    ends = [NO_PROGRAM if a.source is None else NOT_THE_MODELS for a in answers]
    theirs = {
        k: (problems[k], answer.source)
        for k, answer in enumerate(answers)
        if answer.source is not None and model.wrote(answer.source)
    }
    for k, verdict in zip(theirs, judge.judge_all(list(theirs.values())), strict=True):
        ends[k] = verdict.kind
    return ends


def _measurement(
    problems: Sequence[Problem],
    ends: Sequence[str],
    details: dict[str, JsonValue],
    flags: tuple[str, ...],
) -> Measurement:
    counts = Counter(ends)
    solved = counts[Kind.ACCEPTED]
    failed = ", ".join(f"{counts[kind]} {said}" for kind, said in SAID.items() if counts[kind])
    if foreign := counts[NOT_THE_MODELS]:
        flags = (*flags, f"not_the_models: {foreign} programs were not the model's")
    message = f"{solved} of {len(problems)} problems solved"
    return Measurement(
        raw=round(solved / len(problems), 6),
        message=f"{message}; of the other programs {failed}" if failed else message,
        details={**details, "ends": {p.key: str(e) for p, e in zip(problems, ends, strict=True)}},
        flags=flags,
    )
