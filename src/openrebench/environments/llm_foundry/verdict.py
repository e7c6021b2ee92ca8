"""Whether a run's output is what the given repository makes of the same run."""

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from openrebench.core.card import Profile
from openrebench.environments.llm_foundry import weights
from openrebench.environments.llm_foundry.runs import OUTPUT
from openrebench.errors import InvalidSubmission, Reason

if TYPE_CHECKING:
    from torch import Tensor

LOSSES = "train_loss.json"
LOSSES_BYTES = 1 << 22
# Parts of names by which tensors are grouped, in this order; the second names are Llama's.
GROUPS = {
    "embedding": ("wte", "embed_tokens", "lm_head"),
    "position": ("wpe",),
    "attention": ("attn",),
    "feed-forward": ("ffn", "mlp"),
    "norm": ("norm",),
}
ALL = "all"


@dataclass(frozen=True)
class Verdict:
    """How far an output lies from the truth.

    Args:
        drift: `||w - w_ref|| / ||w_ref - w_init||` by group of tensors, and over all of them.
        loss_gap: Largest difference of a step's training loss, in nats; None if not looked at.
    """

    drift: Mapping[str, float]
    loss_gap: float | None

    def details(self) -> dict[str, Any]:
        """Give it as plain data."""
        drift = {name: float(f"{value:.3g}") for name, value in self.drift.items()}
        gap = None if self.loss_gap is None else float(f"{self.loss_gap:.3g}")
        return {"drift": drift, "loss_gap": gap}


def judge(output: Path, truth: Path, base: Path, profile: Profile) -> Verdict:
    """Compare a run's output folder with the truth's.

    Raises:
        InvalidSubmission: It can't be loaded strictly, its weights drift or its losses differ by
            more than the profile's tolerances.
    """
    drift = measure_drift(output, truth, base, profile.device)
    tolerance = float(profile.parameters["tolerance"])
    worst = max(drift, key=lambda name: drift[name])
    if not drift[worst] <= tolerance:
        raise InvalidSubmission(
            Reason.WRONG_OUTPUT,
            f"the trained weights differ from those of the given repository: relative distance "
            f"{drift[worst]:.0e} ({worst}); allowed is {tolerance:g}",
        )
    if "loss_tolerance" not in profile.parameters:
        return Verdict(drift, None)
    gap = loss_gap(output / LOSSES, truth / LOSSES)
    allowed = float(profile.parameters["loss_tolerance"])
    if not gap <= allowed:
        raise InvalidSubmission(
            Reason.WRONG_OUTPUT,
            f"{OUTPUT}/{LOSSES} does not hold the training loss of every batch: one is off by "
            f"{gap:.0e}; allowed is {allowed:g}",
        )
    return Verdict(drift, gap)


def measure_drift(output: Path, truth: Path, base: Path, device: str = "cpu") -> dict[str, float]:
    """Give the drift of each group, and over all tensors.

    Args:
        output: Folder of the weights to judge.
        truth: Folder of the right ones.
        base: Folder of those that training started from.
        device: Where to compute; sums are kept in fp64.

    Raises:
        InvalidSubmission: Names, shapes or types are not the truth's, or a number is not finite.
    """
    apart = {name: 0.0 for name in (*GROUPS, ALL)}
    moved = dict(apart)
    with (
        weights.submitted(output, truth) as theirs,
        weights.own(truth) as right,
        weights.own(base) as start,
    ):
        _check_names(set(theirs), set(right))
        for name in right:
            reference = right.tensor(name).to(device)
            value = _checked(theirs.tensor(name), name, reference)
            first = start.tensor(name).to(device)
            distances = _squared(value, reference), _squared(reference, first)
            for group in {group_of(name), ALL}:
                apart[group] += distances[0]
                moved[group] += distances[1]
    return {group: _ratio(apart[group], moved[group]) for group in apart}


def group_of(name: str) -> str:
    """Name the group of a tensor."""
    for group, parts in GROUPS.items():
        if any(part in name for part in parts):
            return group
    return ALL


def loss_gap(found: Path, truth: Path) -> float:
    """Give the largest difference between two lists of step losses.

    Raises:
        InvalidSubmission: The file is no list of finite numbers, or of another length.
    """
    right = json.loads(truth.read_text(encoding="utf-8"))
    try:
        losses = json.loads(weights.read(found, LOSSES_BYTES))
        values = [float(value) for value in losses]
    except (ValueError, TypeError, RecursionError) as error:
        raise InvalidSubmission(
            Reason.WRONG_OUTPUT, f"{OUTPUT}/{LOSSES} is not a list of numbers"
        ) from error
    if len(values) != len(right):
        raise InvalidSubmission(
            Reason.WRONG_OUTPUT,
            f"{OUTPUT}/{LOSSES} has {len(values)} losses; expected one for each batch",
        )
    gap = max((abs(a - b) for a, b in zip(values, right, strict=True)), default=0.0)
    return math.inf if math.isnan(gap) or not all(map(math.isfinite, values)) else gap


def _squared(a: "Tensor", b: "Tensor") -> float:
    return float((a.double() - b.double()).square().sum())


def _ratio(apart: float, moved: float) -> float:
    """Divide distances; a group that does not move in the truth may not move at all."""
    if moved == 0.0:
        return 0.0 if apart == 0.0 else math.inf
    return math.sqrt(apart / moved)


def _checked(value: "Tensor", name: str, reference: "Tensor") -> "Tensor":
    """Refuse a tensor that does not look like the truth's."""
    import torch

    if value.shape != reference.shape or value.dtype != reference.dtype:
        raise InvalidSubmission(
            Reason.WRONG_SHAPE,
            f"{OUTPUT}: '{name}' is {value.dtype} {list(value.shape)}; expected "
            f"{reference.dtype} {list(reference.shape)}",
        )
    value = value.to(reference.device)
    if not bool(torch.isfinite(value).all()):
        raise InvalidSubmission(Reason.NON_FINITE, f"{OUTPUT}: '{name}' holds a NaN or an infinity")
    return value


def _check_names(found: set[str], expected: set[str]) -> None:
    if found != expected:
        missing, extra = sorted(expected - found), sorted(found - expected)
        raise InvalidSubmission(
            Reason.WRONG_OUTPUT,
            f"{OUTPUT}: {len(missing)} tensors missing, {len(extra)} too many "
            f"(such as '{(missing or extra)[0][:80]}')",
        )
