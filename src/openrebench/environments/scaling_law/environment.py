"""Score an answer from a hidden loss surface; offer metered training runs."""

import json
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import final

from openrebench.core.card import Profile, TaskCard
from openrebench.core.environment import Environment, Measurement
from openrebench.core.seed import Seed
from openrebench.core.service import Journal, scored_journal
from openrebench.environments.scaling_law import experiments
from openrebench.environments.scaling_law.answers import FILE, TOLERANCE, Answer, read_answer
from openrebench.environments.scaling_law.experiments import Experiments
from openrebench.environments.scaling_law.recipe import Family
from openrebench.environments.scaling_law.surface import Cells, Surface
from openrebench.isolation.runner import Runner

UNSUPPORTED = "unsupported_guess: hardly any training run of this attempt came before the answer"
SUPPORT = 0.05  # of the allowance, in finished runs; less is flagged
NOT_MEASURED = {
    "full": "needs OpenWebText and days on several GPUs, and no loss surface at that size was "
    "measured; python -m openrebench.environments.scaling_law.full prepares such runs",
}


@final
class ScalingLaw(Environment):
    """Read what an answer's loss would be off the surface; nothing of the submission runs."""

    service_name = Experiments.name

    def unavailable(self, profile: Profile) -> str | None:
        """Say what of the profile was never measured, or that nothing can train here."""
        if find_spec("torch") is None:
            return "needs torch for its training runs: pip install torch"
        return NOT_MEASURED.get(str(profile.parameters["surface"]))

    def prepare(self, workspace: Path, profile: Profile, *, seed: Seed) -> None:
        """Give a guess that fits the profile's budget as the first answer."""
        start = start_of(self.card, profile)
        (workspace / FILE).write_text(json.dumps(start._asdict()) + "\n", encoding="utf-8")

    def service(self, profile: Profile, journal: Journal) -> Experiments:
        """Give an attempt's training runs (see `core.service`)."""
        return Experiments(profile, journal)

    def score(
        self, submission: Path, runner: Runner, profile: Profile, *, seed: Seed
    ) -> Measurement:
        """Give 1 - (regret + error of the prediction) in points (see `Environment.score`)."""
        answer = read_answer(submission, profile)
        surface = surface_of(self.card.folder, profile)
        loss, best = surface.loss(answer.n_embd, answer.max_iters), lowest_loss(surface, profile)
        error = abs(answer.loss_prediction - loss)
        raw = round(1 - (loss - best + error), 4)
        journal = scored_journal(self)
        share = surface.family.flop(answer.n_embd, answer.max_iters) / surface.budget
        message = f"the configuration costs {share:.1%} of the budget{_used(profile, journal)}"
        if profile.parameters["feedback"]:
            message = f"{message}; score {raw}"
        guessed = journal is not None and not self._supported(answer, profile, journal)
        return Measurement(
            raw=raw,
            message=message,
            details={"loss": round(loss, 4), "regret": round(loss - best, 4), "error": error},
            flags=(UNSUPPORTED,) if guessed else (),
        )

    def _supported(self, answer: Answer, profile: Profile, journal: Journal) -> bool:
        """Tell whether an answer is the given one, or stands on some finished runs."""
        start = start_of(self.card, profile)
        share = experiments.finished_flop(journal.rows()) / float(profile.parameters["allowance"])
        return answer == start or share >= SUPPORT


def start_of(card: TaskCard, profile: Profile) -> Answer:
    """Give the answer that everybody starts with: the same width and loss at any budget."""
    given = read_answer(card.folder / "agent", card.profile("small"))
    iters = int(float(profile.parameters["c_big"]) / Family.of(profile).flop(given.n_embd, 1))
    return given._replace(max_iters=iters)


def surface_file(folder: Path, profile: Profile) -> Path:
    """Name the file with the sweep of a profile."""
    return folder / "hidden" / f"surface-{profile.parameters['surface']}.json"


@cache
def _read(path: Path) -> Cells:
    return Cells.load(path)


def surface_of(folder: Path, profile: Profile) -> Surface:
    """Fit a profile's surface."""
    budget = float(profile.parameters["c_big"])
    return Surface.fit(Family.of(profile), budget, _read(surface_file(folder, profile)))


def lowest_loss(surface: Surface, profile: Profile) -> float:
    """Give the lowest loss that any legal answer reaches."""
    lowest, highest = profile.integer("min_width"), profile.integer("max_width")
    return surface.best(lowest, highest, 1 + TOLERANCE)[0]


def _used(profile: Profile, journal: Journal | None) -> str:
    if journal is None:
        return ""
    used = experiments.spent(journal.rows()).flop / float(profile.parameters["allowance"])
    return f"; the runs so far used {used:.1%} of their allowance"
