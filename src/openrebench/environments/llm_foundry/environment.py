"""Score a finetuning repository: it must learn the same first, then its time counts."""

import math
import shutil
from collections.abc import Sequence
from pathlib import Path
from statistics import fmean
from typing import NamedTuple, final

from pydantic import JsonValue

from openrebench.core.card import Profile
from openrebench.core.environment import Environment, Measurement
from openrebench.core.seed import Seed
from openrebench.environments.llm_foundry import full, material
from openrebench.environments.llm_foundry.calibration import Calibration
from openrebench.environments.llm_foundry.hidden.pool import SHORT, TIMED, Pool
from openrebench.environments.llm_foundry.runs import SCRIPT, finetune
from openrebench.environments.llm_foundry.variants import Variant
from openrebench.environments.llm_foundry.verdict import Verdict, judge
from openrebench.errors import InvalidSubmission, Reason
from openrebench.isolation.local import LocalRunner
from openrebench.isolation.runner import Pauses, Runner
from openrebench.textbase import source

MOST_RUNS = 3


@final
class LlmFoundry(Environment):
    """Time `finetune.sh` on a secret variant, whose right weights exist on this side only."""

    def unavailable(self, profile: Profile) -> str | None:
        """Say what the profile misses here."""
        if profile.parameters["base"] == "hub":
            return source.unavailable(profile) or full.missing(profile)
        return source.unavailable(profile)

    def fetch(self, profile: str) -> None:
        """Fill this machine's pool of secret variants; get what does not ship first."""
        found = self.card.profile(profile)
        if found.parameters["base"] == "hub":
            full.fetch(found)
        with LocalRunner() as runner:
            Pool(found).fill(found.integer("pool"), runner)

    def prepare(self, workspace: Path, profile: Profile, *, seed: Seed) -> None:
        """Write the base model, the configuration, and rows to try things on."""
        if profile.parameters["base"] == "hub":
            full.replace(material.AGENT, workspace, profile)
        shutil.copytree(Pool(profile).base, workspace / material.BASE)
        rows = material.draw_rows("dev", profile.integer("rows"), seed.rng("dev rows"))
        (workspace / material.ROWS).write_text(material.rows_text(rows), encoding="utf-8")
        (workspace / material.CONFIG).write_text(material.configuration(profile))

    def score(
        self, submission: Path, runner: Runner, profile: Profile, *, seed: Seed
    ) -> Measurement:
        """Give the mean seconds of the timed runs (see `Environment.score`).

        A short run goes first, where the size has one: a repository that ignores an option is told
        so early. Fast repositories are timed on several variants, since noise is larger there.
        """
        pool = Pool(profile)
        variants = pool.draw(seed, runner)
        runs = [_run(submission, v[SHORT], runner, profile) for v in variants[:1] if SHORT in v]
        timed: list[Run] = []
        calibration = Calibration(profile)
        while _more(timed, variants, profile):
            calibration.sample()
            variant = variants[len(timed)][TIMED]
            timed.append(_run(submission, variant, runner, profile, calibration.pauses))
        calibration.sample()
        seconds = fmean(run.seconds for run in timed) * calibration.factor(timed[0].clock)
        _check_limit(seconds, profile)
        raw = float(f"{seconds:.4g}")
        return Measurement(
            raw=raw,
            message=f"{raw} s for a finetuning run, and what it learned is right",
            details={
                "runs": [run.details() for run in (*runs, *timed)],
                "calibration_cpu_s": [round(sample.cpu_s, 3) for sample in calibration.samples],
            },
        )


class Run(NamedTuple):
    """A run that learned the right thing."""

    cpu_s: float | None
    wall_s: float
    counts_cpu: bool
    verdict: Verdict
    variant: Variant

    @property
    def clock(self) -> str:
        """Which of its times counts."""
        return "cpu_s" if self.counts_cpu else "wall_s"

    @property
    def seconds(self) -> float:
        """The time that counts."""
        return float(getattr(self, self.clock))

    def details(self) -> dict[str, JsonValue]:
        """Give what the log keeps."""
        return {
            "cpu_s": None if self.cpu_s is None else round(self.cpu_s, 3),
            "wall_s": round(self.wall_s, 3),
            "changed": dict(self.variant.changed),
            **self.verdict.details(),
        }


def _more(timed: list[Run], variants: Sequence[object], profile: Profile) -> bool:
    """Tell whether another timed run is due: there is always one, and until enough was timed."""
    if len(timed) == min(len(variants), MOST_RUNS):
        return False
    return not timed or sum(run.seconds for run in timed) < profile.integer("timed_s")


def _run(
    submission: Path,
    variant: Variant,
    runner: Runner,
    profile: Profile,
    pauses: Pauses | None = None,
) -> Run:
    """Run the submission on a variant, and compare what it learned once all of it has ended.

    CPU time counts, or wall time where a GPU does the work; also where no control groups are and
    CPU time can't be told in every isolation mode.

    Raises:
        InvalidSubmission: It failed, was too slow, or learned something else.
    """
    try:
        with finetune(submission, variant, runner, profile, pauses) as finished:
            counts_cpu = profile.device != "cuda" and finished.cpu_s is not None
            verdict = judge(finished.output, variant.truth, variant.base, profile)
    except InvalidSubmission as error:
        changed = " and ".join(sorted(set(variant.changed) - {"seed"}))
        sentence = f"{error.message} (in a run with another {changed})"
        raise InvalidSubmission(error.reason, sentence) from error
    return Run(finished.cpu_s, finished.wall_s, counts_cpu, verdict, variant)


def _check_limit(seconds: float, profile: Profile) -> None:
    """Refuse what took too much of the time that counts; the runner limits wall time alone."""
    limit = float(profile.parameters.get("cpu_limit_s", math.inf))
    if seconds > limit:
        sentence = f"{SCRIPT} took {seconds:.0f} s; the limit is {limit:g} s"
        raise InvalidSubmission(Reason.TIMED_OUT, sentence)
