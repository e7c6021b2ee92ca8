"""Raw scores and the scale on which the start is 0 and the reference is 1."""

import math
from dataclasses import dataclass
from typing import Literal

Direction = Literal["lower", "higher"]
Transform = Literal["identity", "log", "log_offset"]


@dataclass(frozen=True, kw_only=True)
class ScoreScale:
    """Normalise raw scores between two measured anchors.

    Args:
        unit: Unit of raw scores, for example "ms".
        direction: Which raw scores are better.
        transform: Applied to raw scores first; "log_offset" is ln(raw - offset).
        offset: Subtracted before the logarithm; only used by "log_offset".
        start: Raw score of the starting solution.
        reference: Raw score of the reference solution.
    """

    unit: str
    direction: Direction
    transform: Transform
    offset: float = 0.0
    start: float
    reference: float

    def transformed(self, raw: float) -> float:
        """Apply the transform to a raw score.

        Raises:
            ValueError: `raw` is not finite, or not above the offset on a log scale.
        """
        if not math.isfinite(raw):
            raise ValueError(f"raw score {raw} {self.unit} is not finite")
        if self.transform == "identity":
            return raw
        inside = raw - (self.offset if self.transform == "log_offset" else 0.0)
        if inside <= 0:
            raise ValueError(f"raw score {raw} {self.unit} has no logarithm on this scale")
        return math.log(inside)

    def normalize(self, raw: float) -> float:
        """Place a raw score on the scale where the start is 0 and the reference is 1.

        Larger is better whatever the direction of the raw score, and values above 1 or
        below 0 are kept. On a log scale equal ratios of raw scores are equal steps.

        Raises:
            ValueError: `raw` has no place on the scale (see `transformed`).

        Source:
            Wijk et al. 2024, arXiv:2411.15114, section on score normalisation.

        Example:
            >>> scale = ScoreScale(
            ...     unit="ms", direction="lower", transform="log", start=4.74, reference=1.60
            ... )
            >>> abs(scale.normalize(4.74)), scale.normalize(1.60)
            (0.0, 1.0)
            >>> round(scale.normalize(0.64), 2)
            1.84
        """
        start, reference = self.transformed(self.start), self.transformed(self.reference)
        return (self.transformed(raw) - start) / (reference - start)

    def better(self, a: float, b: float) -> bool:
        """Tell whether raw score `a` is strictly better than raw score `b`.

        Example:
            >>> scale = ScoreScale(
            ...     unit="ms", direction="lower", transform="log", start=4.74, reference=1.60
            ... )
            >>> scale.better(1.0, 2.0), scale.better(2.0, 2.0)
            (True, False)
        """
        return a < b if self.direction == "lower" else a > b
