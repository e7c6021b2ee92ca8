"""Score weights by what they answer to hidden questions, in a judge's eyes."""

from pathlib import Path
from typing import TYPE_CHECKING, final

from openrebench.core.card import Profile
from openrebench.core.environment import Environment, Measurement
from openrebench.core.seed import Seed
from openrebench.core.service import Journal, scored_journal
from openrebench.environments.gpt2_qa import contest, full, sources, workspace_files
from openrebench.environments.gpt2_qa.contest import Contest
from openrebench.environments.gpt2_qa.metering import MeteredJudge, beyond, used
from openrebench.environments.gpt2_qa.sampling import Sampling, read_sampling
from openrebench.isolation.local import LocalRunner
from openrebench.isolation.runner import Runner
from openrebench.textbase.source import one_thread

if TYPE_CHECKING:
    from torch import Tensor

    from openrebench.textbase.gpt import GPT

SUBMITTED = "model.safetensors"
SAMPLING = "sampling.json"
FEW = 100  # comparisons; weights that were changed on fewer are flagged


@final
class Gpt2Qa(Environment):
    """Let submitted weights answer, in our own model class; nothing of a submission is ever run."""

    service_name = MeteredJudge.name

    def unavailable(self, profile: Profile) -> str | None:
        """Say what the profile misses here."""
        return sources.unavailable(profile)

    def fetch(self, profile: str) -> None:
        """Get the published models and questions, or make models and the reference on this GPU."""
        found = self.card.profile(profile)
        if found.parameters["source"] == "hub":
            full.fetch(found, sources.folder(found))
        elif found.parameters["source"] == "made":
            from openrebench.environments.gpt2_qa.hidden import make_gpu, run_reference

            make_gpu.make(found, make_gpu.Plan(), sources.folder(found))
            with LocalRunner() as runner:
                run_reference.make(self, profile, runner)

    def reference(self, profile: str) -> Path:
        """Give the folder of the reference: beside the models where those are made here."""
        found = self.card.profile(profile)
        shipped = found.parameters["source"] == "shipped"
        return sources.folder(found) / "reference" if not shipped else super().reference(profile)

    def prepare(self, workspace: Path, profile: Profile, *, seed: Seed) -> None:
        """Write the base model, the dev questions and our generation code."""
        workspace_files.write(workspace, profile)

    def service(self, profile: Profile, journal: Journal) -> MeteredJudge:
        """Give an attempt's judge (see `core.service`)."""
        return MeteredJudge(profile, journal)

    def score(
        self, submission: Path, runner: Runner, profile: Profile, *, seed: Seed
    ) -> Measurement:
        """Give the mean win rate on the score questions (see `Environment.score`)."""
        return self._measure(submission, profile, "score", seed)

    def score_final(
        self, submission: Path, runner: Runner, profile: Profile, *, seed: Seed
    ) -> Measurement:
        """Give the mean win rate on the final questions (see `Environment.score_final`)."""
        return self._measure(submission, profile, "final", seed)

    def _measure(self, submission: Path, profile: Profile, split: str, seed: Seed) -> Measurement:
        from openrebench.textbase import weights

        sampling = read_sampling(submission / SAMPLING)
        original = sources.base(profile)
        submitted = weights.read_submitted(submission / SUBMITTED, original.config)
        model = weights.model_of(submitted, original.config).to(profile.device)
        with one_thread():
            found, right = held(model, sampling, profile, split, seed)
        journal, changed = scored_journal(self), _changed(submitted, original)
        rates = ", ".join(f"{rate:.3f} against {name}" for name, rate in found.rates.items())
        raw = round(found.rate, 4)
        return Measurement(
            raw=raw,
            message=f"win rate {raw} ± {found.margin:.3f} ({rates}){_told(profile, journal)}",
            details={**found.details(), "right_answers": right, "split": split},
            flags=tuple(_flags(found, right, profile, journal, changed=changed)),
        )


def held(
    model: "GPT", sampling: Sampling, profile: Profile, split: str, seed: Seed
) -> tuple[Contest, float | None]:
    """Let a model answer a hidden split; gives the contest, and the right answers' win rate.

    The latter is left out at the published size, where the judge is dear.
    """
    from openrebench.environments.gpt2_qa.asking import answers

    pairs, opponents = sources.pairs(profile, split), sources.opponents(profile, split)
    texts, judge = sources.texts(profile), sources.judge(profile)
    questions = [pair.question for pair in pairs]
    passes = []
    for k in range(profile.integer("passes")):
        drawn = int(seed.rng(f"answers {k}").integers(2**62))
        batch = profile.integer("batch")
        passes.append(answers(model, texts, questions, sampling, seed=drawn, batch=batch))
    ruled = bool(profile.parameters["ruled"])
    found = contest.hold(judge, pairs, passes, opponents, ruled=ruled)
    if not ruled:
        return found, None
    right = [pair.answer for pair in pairs]
    return found, round(contest.hold(judge, pairs, [right], opponents, ruled=True).rate, 4)


def _changed(submitted: "dict[str, Tensor]", original: "GPT") -> bool:
    """Tell whether any weight differs from the base model's, as it was given in fp16."""
    given = original.state_dict()
    return any(not bool((value == given[name].half()).all()) for name, value in submitted.items())


def _told(profile: Profile, journal: Journal | None) -> str:
    if journal is None:
        return ""
    return f"; {used(journal.rows())} of {profile.integer('judge_calls')} comparisons used"


def _flags(
    found: Contest,
    right: float | None,
    profile: Profile,
    journal: Journal | None,
    *,
    changed: bool,
) -> list[str]:
    """Name what a person should look at."""
    flags = []
    canned = contest.canned_share(found)
    if canned > contest.CANNED_SHARE:
        flags.append(f"canned: {canned:.0%} of the answers were given to many questions")
    if right is not None and found.rate > right:
        flags.append(f"above_right_answers: those have a win rate of {right:.3f}")
    if journal is None:
        return flags
    refused, asked = beyond(journal.rows()), used(journal.rows())
    if refused:
        limit = profile.integer("judge_calls")
        flags.append(f"judge_calls: {refused} comparisons were asked beyond the {limit} allowed")
    if changed and asked < FEW:
        flags.append(f"no_preferences: the weights were changed with {asked} comparisons used")
    return flags
