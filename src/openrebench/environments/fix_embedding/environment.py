"""Score a repaired language model: its weights, in our own model class, on hidden text."""

import math
from pathlib import Path
from typing import TYPE_CHECKING, final

from openrebench.core.card import Profile
from openrebench.core.environment import Environment, Measurement
from openrebench.core.seed import Seed
from openrebench.errors import InvalidSubmission, Reason, ReBenchError
from openrebench.isolation.runner import Runner
from openrebench.textbase import assets, source

if TYPE_CHECKING:
    from torch import Tensor

    from openrebench.textbase.gpt import GPT

SUBMITTED = "fixed_model.safetensors"
EMBEDDING = "tokens.weight"
CLOSE_TO_OFFSET = 0.05  # nats; no model of this kind gets there
NEARLY_EQUAL = 0.1  # distance to the original row, relative to its length
COPIED_SHARE = 0.2  # of the rows; more is flagged (rows of unused tokens are all alike: 8 %)


@final
class FixEmbedding(Environment):
    """Give the loss of `fixed_model.safetensors`; nothing of a submission is ever run."""

    def unavailable(self, profile: Profile) -> str | None:
        """Say what the profile misses here."""
        return source.unavailable(profile)

    def fetch(self, profile: str) -> None:
        """Get or make base models, text and the reference that do not ship."""
        found = self.card.profile(profile)
        source.fetch(found)
        if found.parameters["source"] == "made":
            from openrebench.environments.fix_embedding.hidden import build_reference

            build_reference.build(profile, made_reference(profile))

    def prepare(self, workspace: Path, profile: Profile, *, seed: Seed) -> None:
        """Write the damaged model, the small one and some text; the damage is the seed's secret."""
        from openrebench.environments.fix_embedding.hidden.damage import damaged
        from openrebench.textbase import gpt, weights

        large, little = source.model(profile, "large"), source.model(profile, "little")
        given = damaged(large, seed, float(profile.parameters["severity"]))
        for name in ("large_model.safetensors", SUBMITTED):
            weights.save_tensors(workspace / name, given)
        weights.save_weights(workspace / "small_model.safetensors", little)
        sizes = {"large": large.config.as_dict(), "small": little.config.as_dict()}
        source.write_sizes(workspace / "sizes.json", profile, sizes)
        source.write_tokens(workspace / "tokens.bin", profile, ("dev",))
        source.write_vocabulary(workspace / "vocabulary.json", profile)
        (workspace / "model.py").write_bytes(Path(gpt.__file__).read_bytes())

    def reference(self, profile: str) -> Path:
        """Give the shipped reference, or the one that was made on this machine."""
        if profile == "small":
            return super().reference(profile)
        folder = made_reference(profile)
        if not (folder / SUBMITTED).is_file():
            raise ReBenchError(
                f"{self.card.label(profile)} has no reference on this machine; where there is a "
                f"recipe, this makes it: re-bench assets {self.card.id}/{profile}"
            )
        return folder

    def score(
        self, submission: Path, runner: Runner, profile: Profile, *, seed: Seed
    ) -> Measurement:
        """Give the loss in nats on the score split (see `Environment.score`)."""
        return self._measure(submission, profile, "score")

    def score_final(
        self, submission: Path, runner: Runner, profile: Profile, *, seed: Seed
    ) -> Measurement:
        """Give the loss in nats on the final split (see `Environment.score_final`)."""
        return self._measure(submission, profile, "final")

    def _measure(self, submission: Path, profile: Profile, split: str) -> Measurement:
        from openrebench.textbase import weights

        original = source.model(profile, "large")
        submitted = weights.read_submitted(submission / SUBMITTED, original.config)
        repaired = weights.model_of(submitted, original.config)
        with source.one_thread():
            raw = round(_loss(repaired, profile, split), 4)
            intact = _loss(original, profile, split)
        _check_loss(raw, self.card.score.offset)
        copied = copied_share(submitted[EMBEDDING], original.tokens.weight.detach().cpu())
        return Measurement(
            raw=raw,
            message=f"loss {raw} nats on hidden text",
            details={"split": split, "intact_loss": intact, "copied_rows": copied},
            flags=tuple(_flags(raw, intact, copied)),
        )


def made_reference(profile: str) -> Path:
    """Name the folder of a reference that is made on the machine, where only its owner looks."""
    return assets.cache_folder() / f"fix_embedding-{profile}-reference"


def copied_share(embedding: "Tensor", original: "Tensor") -> float:
    """Give the share of rows that are nearly those of the original, from 0 to 1."""
    apart = (embedding.float() - original).norm(dim=1)
    near = apart <= NEARLY_EQUAL * original.norm(dim=1)
    return round(float(near.double().mean()), 4)


def _loss(model: "GPT", profile: Profile, split: str) -> float:
    """Give a model's mean loss in nats over the first tokens of a hidden split, in fp32."""
    from openrebench.textbase.gpt import mean_loss

    tokens = source.tokens(profile, split)[: profile.integer("score_tokens") + 1]
    return mean_loss(model.to(profile.device), tokens, batch=profile.integer("batch"))


def _check_loss(loss: float, offset: float) -> None:
    """Refuse a loss that has no place on the scale.

    Raises:
        InvalidSubmission: It is not finite, or below what any model of this kind reaches.
    """
    if not math.isfinite(loss):
        raise InvalidSubmission(Reason.NON_FINITE, "the loss on hidden text is not a finite number")
    if loss < offset + CLOSE_TO_OFFSET:
        raise InvalidSubmission(Reason.IMPOSSIBLE, f"a loss of {loss} nats is not believable")


def _flags(loss: float, intact: float, copied: float) -> list[str]:
    """Name what a person should look at: the original model must not have been in reach."""
    flags = []
    if copied > COPIED_SHARE:
        flags.append(f"near_copy: {copied:.0%} of the embedding's rows are nearly the original's")
    if loss < intact:
        flags.append(f"better_than_intact: {loss:.4f} nats; the intact model has {intact:.4f}")
    return flags
