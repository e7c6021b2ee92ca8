"""A seeded search over literals, without any language model: the floor for every agent.

It knows nothing of any environment: it reads the files that are scored, changes a number or
boolean (several at a time when single changes are used up), and keeps what scores better.
"""

import hashlib
import random
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

from inspect_ai.agent import Agent, AgentState, agent
from inspect_ai.model import ModelOutput
from inspect_ai.util import sandbox

from openrebench.agents.literals import Literal, changed, find_literals, replaced
from openrebench.core.card import TaskCard
from openrebench.core.scale import ScoreScale
from openrebench.harness import live
from openrebench.harness.tools import request_score, time_left_s
from openrebench.isolation.snapshot import take

DRAWS = 200  # draws without a text that was not tried yet, after which more is changed at once
NO_LITERALS = "the scored files hold no literal that could be changed"
NO_TIME = "another score call would not end in time"
NO_SCORES = "this environment does not show scores, so there is nothing to search by"

Files = Mapping[str, str]


@dataclass
class Search:
    """The best files so far, and everything that was tried.

    Args:
        scale: Compares raw scores; its anchors are not used.
        margin: How much better a score must be, on the scale's transform. It is the difference
            between two scores of the unchanged files, so that noise is not taken for progress.
    """

    files: Files
    rng: random.Random
    scale: ScoreScale
    raw: float | None = None
    margin: float = 0.0
    tried: set[str] = field(default_factory=set)

    def places(self) -> list[tuple[str, Literal]]:
        """List every literal of the best files."""
        return [
            (name, literal)
            for name, text in self.files.items()
            for literal in find_literals(PurePosixPath(name).suffix, text)
        ]

    def propose(self) -> Files | None:
        """Change literals of the best files to something never tried; None if none is left.

        One literal is changed while that gives anything new, then two at a time, and so on.
        """
        places = self.places()
        for count in range(1, len(places) + 1):
            for _ in range(DRAWS):
                files = self._changed(self.rng.sample(places, count))
                if files != self.files and self._is_new(files):
                    return files
        return None

    def _changed(self, places: list[tuple[str, Literal]]) -> Files:
        """Change some literals, from the end of each file, so that the places stay right."""
        files = dict(self.files)
        for name, literal in sorted(places, key=lambda place: place[1].start, reverse=True):
            value = changed(literal.text, self.rng)
            if value is not None:
                files[name] = replaced(files[name], literal, value)
        return files

    def _is_new(self, files: Files) -> bool:
        key = hashlib.sha256(repr(sorted(files.items())).encode()).hexdigest()
        new = key not in self.tried
        self.tried.add(key)
        return new

    def judge(self, files: Files, raw: float | None) -> bool:
        """Keep files if they score better by more than the margin; tells whether they were."""
        better = raw is not None and (self.raw is None or self._gain(raw, self.raw) > self.margin)
        if better:
            self.files, self.raw = files, raw
        return better

    def measure_noise(self, first: float | None, second: float | None) -> None:
        """Begin from two scores of the unchanged files: neither is progress."""
        self._is_new(self.files)
        valid = [raw for raw in (first, second) if raw is not None]
        self.raw = valid[0] if valid else None
        if len(valid) == 2:
            self.margin = abs(self._gain(valid[0], valid[1]))
            self.raw = valid[0] if self.scale.better(*valid) else valid[1]

    def _gain(self, raw: float, over: float) -> float:
        difference = self.scale.transformed(raw) - self.scale.transformed(over)
        return -difference if self.scale.direction == "lower" else difference


@agent
def literal_search(seed: int = 0) -> Agent:
    """Change literals, keep what scores better, until the time is up.

    Args:
        seed: Seed of all draws; attempts of one run differ by their number.
    """

    async def execute(state: AgentState) -> AgentState:
        attempt = live.current()
        attempt.settings["seed"] = seed
        card = attempt.attempt.environment.card
        if not card.score.visible:
            return _stopped(state, NO_SCORES)
        search = Search(
            files=_scored_files(attempt.attempt.workspace, card, attempt.attempt.record.profile),
            rng=random.Random(f"{seed}/{attempt.number}/{card.id}"),
            scale=card.score.scale(1.0, 2.0),
        )
        search.measure_noise(attempt.attempt.log.entries[0].raw, None)
        return _stopped(state, await _run(search))

    return execute


async def _run(search: Search) -> str:
    """Search until the time is up, which ends the sample here, or nothing is left to try."""
    if not search.places():
        return NO_LITERALS
    if not _time_for_a_score():
        return NO_TIME
    search.measure_noise(search.raw, (await request_score()).raw)
    while (files := search.propose()) is not None:
        if not _time_for_a_score():
            return NO_TIME
        before = search.files
        await _write(files, before)
        if not search.judge(files, (await request_score()).raw):
            await _write(before, files)
    return "every change was tried"


def _time_for_a_score() -> bool:
    """Tell whether a score call as long as the last one would end in time."""
    left_s = time_left_s()
    return left_s is None or left_s > live.current().attempt.log.entries[-1].seconds


def _scored_files(workspace: Path, card: TaskCard, profile: str) -> Files:
    """Read the text files that a score call would take."""
    files = {}
    taken = take(workspace, card.submission, card.submission_limit(profile))
    for name, content in taken.files.items():
        try:
            files[name] = content.decode()
        except UnicodeDecodeError:
            continue
    return files


async def _write(files: Files, over: Files) -> None:
    for name, text in files.items():
        if over.get(name) != text:
            await sandbox().write_file(name, text)


def _stopped(state: AgentState, why: str) -> AgentState:
    state.output = ModelOutput.from_content(model="none", content=f"stopped: {why}")
    state.messages.append(state.output.message)
    return state
