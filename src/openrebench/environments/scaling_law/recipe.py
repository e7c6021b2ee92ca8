"""The family of models whose scaling is asked for: sizes, FLOP, learning rate. Data only."""

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from openrebench.textbase.build import VOCABULARY

if TYPE_CHECKING:
    from openrebench.core.card import Profile

HEAD_WIDTH = 8
WARM_UP_SHARE = 0.05
LAST_RATE = 0.02  # of the peak
DECAY = 0.01
BETAS = (0.9, 0.95)
CLIP_NORM = 1.0


@dataclass(frozen=True, kw_only=True)
class Family:
    """What all runs of a profile share.

    Args:
        layers: Blocks of the GPT.
        context: Tokens of a window.
        batch: Windows of a step.
        rate: Peak learning rate at width 1 and one step (see `peak_rate`).
        rate_width: Its exponent of the width.
        rate_steps: Its exponent of the number of steps.
    """

    layers: int
    context: int
    batch: int
    rate: float
    rate_width: float
    rate_steps: float

    @classmethod
    def of(cls, profile: "Profile") -> "Family":
        """Read the family from a profile's parameters."""
        numbers = {k: float(profile.parameters[k]) for k in ("rate", "rate_width", "rate_steps")}
        return cls(
            layers=profile.integer("layers"),
            context=profile.integer("context"),
            batch=profile.integer("batch"),
            **numbers,
        )

    def parameters(self, n_embd: int) -> int:
        """Count the weights that multiply: matrices of the blocks and the output layer.

        Example:
            >>> family = Family(layers=2, context=64, batch=4, rate=1, rate_width=0, rate_steps=0)
            >>> family.parameters(16)
            38912
        """
        return 12 * self.layers * n_embd**2 + VOCABULARY * n_embd

    def flop(self, n_embd: int, max_iters: int) -> int:
        """Count the FLOP of a run as 6 N D, attention scores left out.

        Source:
            Kaplan et al. 2020, arXiv:2001.08361, section 2.1.
        """
        return 6 * self.parameters(n_embd) * self.batch * self.context * max_iters

    def iterations(self, n_embd: int, flop: float) -> int:
        """Give the most steps of a width that cost at most `flop`."""
        return math.floor(flop / self.flop(n_embd, 1))

    def peak_rate(self, n_embd: int, max_iters: int) -> float:
        """Give the tuned peak learning rate of a run: a power of width and steps."""
        return float(self.rate * n_embd**self.rate_width * max_iters**self.rate_steps)


def schedule(step: int, steps: int) -> float:
    """Give the learning rate at a step, from 1, as a share of the peak: rise, cosine fall."""
    fall = 0.5 * (1 + math.cos(math.pi * step / steps))
    return min(1.0, step / (WARM_UP_SHARE * steps)) * (LAST_RATE + (1 - LAST_RATE) * fall)
