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
class Distance:
    """How far weights `w` lie from the truth `w_ref`, by group of tensors and over all of them.

    Rounding scatters weights to all sides, so it shows in `drift` and hardly in `ahead`; steps that
    are left out, or of another size, show in both.

    Args:
        drift: `||w - w_ref|| / ||w_ref - w_init||`, 0 for the truth.
        ahead: `(w - w_ref) . (w_ref - w_init) / ||w_ref - w_init||**2`: 0 for the truth, -0.05 if
            the last twentieth of a straight way was not gone.
    """

    drift: Mapping[str, float]
    ahead: Mapping[str, float]


@dataclass(frozen=True)
class Verdict:
    """How an output compares with the truth.

    Args:
        distance: Of its weights.
        loss_gap: Largest difference of a step's training loss, in nats; None if not looked at.
    """

    distance: Distance
    loss_gap: float | None

    def details(self) -> dict[str, Any]:
        """Give it as plain data."""
        gap = None if self.loss_gap is None else _three_digits(self.loss_gap)
        found = {"drift": self.distance.drift, "ahead": self.distance.ahead}
        rounded = {k: {g: _three_digits(v) for g, v in by.items()} for k, by in found.items()}
        return {**rounded, "loss_gap": gap}


def judge(output: Path, truth: Path, base: Path, profile: Profile) -> Verdict:
    """Compare a run's output folder with the truth's.

    Raises:
        InvalidSubmission: It can't be loaded strictly, its weights drift or its losses differ by
            more than the profile's tolerances.
    """
    distance = measure_distance(output, truth, base, profile.device)
    _check_distance(distance, profile)
    if "loss_tolerance" not in profile.parameters:
        return Verdict(distance, None)
    gap = loss_gap(output / LOSSES, truth / LOSSES)
    allowed = float(profile.parameters["loss_tolerance"])
    if not gap <= allowed:
        raise InvalidSubmission(
            Reason.WRONG_OUTPUT,
            f"{OUTPUT}/{LOSSES} does not hold the training loss of every batch: one is off by "
            f"{gap:.0e}; allowed is {allowed:g}",
        )
    return Verdict(distance, gap)


def _check_distance(distance: Distance, profile: Profile) -> None:
    """Refuse weights that lie too far from the truth, or on a way of another length."""
    drift, tolerance = distance.drift, float(profile.parameters["tolerance"])
    worst = max(drift, key=lambda group: drift[group])
    if not drift[worst] <= tolerance:
        raise InvalidSubmission(
            Reason.WRONG_OUTPUT,
            f"the trained weights differ from those of the given repository: relative distance "
            f"{drift[worst]:.0e} ({worst}); allowed is {tolerance:g}",
        )
    ahead, allowed = distance.ahead, float(profile.parameters["ahead_tolerance"])
    worst = max(ahead, key=lambda group: abs(ahead[group]))
    if not abs(ahead[worst]) <= allowed:
        further = "further" if ahead[worst] > 0 else "less far"
        raise InvalidSubmission(
            Reason.WRONG_OUTPUT,
            f"training went {abs(ahead[worst]):.1%} {further} ({worst}) than with the given "
            f"repository; allowed is {allowed:.1%}",
        )


def measure_distance(output: Path, truth: Path, base: Path, device: str = "cpu") -> Distance:
    """Compare weights, by group and over all tensors.

    Args:
        output: Folder of the weights to judge.
        truth: Folder of the right ones.
        base: Folder of those that training started from.
        device: Where to compute; sums are kept in fp64.

    Raises:
        InvalidSubmission: Names, shapes or types are not the truth's, or a number is not finite.
    """
    apart = {name: 0.0 for name in (*GROUPS, ALL)}
    moved, along = dict(apart), dict(apart)
    with (
        weights.submitted(output, truth) as theirs,
        weights.own(truth) as right,
        weights.own(base) as start,
    ):
        _check_names(set(theirs), set(right))
        for name in right:
            reference = right.tensor(name).to(device)
            value = _checked(theirs.tensor(name), name, reference)
            off = value.double() - reference.double()
            way = reference.double() - start.tensor(name).to(device).double()
            for group in {group_of(name), ALL}:
                apart[group] += float(off.square().sum())
                moved[group] += float(way.square().sum())
                along[group] += float((off * way).sum())
    return Distance(
        drift={group: math.sqrt(_ratio(apart[group], moved[group])) for group in apart},
        ahead={group: _ratio(along[group], moved[group]) for group in apart},
    )


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


def _three_digits(value: float) -> float:
    return float(f"{value:.3g}")


def _ratio(apart: float, moved: float) -> float:
    """Divide squared distances; a group that does not move in the truth may not move at all."""
    if moved == 0.0:
        return 0.0 if apart == 0.0 else math.inf
    return apart / moved


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
