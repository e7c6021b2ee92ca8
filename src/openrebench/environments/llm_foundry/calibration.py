"""How fast this machine is during a score call: a fixed piece of training, timed again and again.

Other work on a machine slows all that shares its caches and memory, for seconds or for minutes. So
the same work of ours is timed before, after and, while everything of the submission stands still,
during a run: what runs at the same time as a submission could be slowed down by it.
"""

import time
from functools import cached_property
from statistics import fmean
from typing import NamedTuple

from openrebench.core.card import Profile
from openrebench.isolation.runner import Pauses
from openrebench.textbase.source import one_thread

BATCH, WARM_UP_STEPS = 8, 3


class Sample(NamedTuple):
    """What one piece of the work took."""

    cpu_s: float
    wall_s: float


class Calibration:
    """Samples of one score call.

    Args:
        profile: Has `calibration_steps` (0 where nothing is calibrated), `calibration_s` (what they
            stand for) and `calibration_every_s` (wall seconds of a run between two samples).
    """

    def __init__(self, profile: Profile) -> None:
        self._profile, self._steps = profile, profile.integer("calibration_steps")
        self.samples: list[Sample] = []

    @property
    def pauses(self) -> Pauses | None:
        """When a run is to stand still for a sample."""
        if not self._steps:
            return None
        every_s = float(self._profile.parameters["calibration_every_s"])
        return Pauses(every_s=every_s, act=self.sample)

    def sample(self) -> None:
        """Time the work once more, at sizes that are calibrated."""
        if not self._steps:
            return
        with one_thread():
            work = self._work
            cpu_s, wall_s = time.thread_time(), time.monotonic()
            work.do(self._steps)
            sample = Sample(time.thread_time() - cpu_s, time.monotonic() - wall_s)
        self.samples.append(sample)

    def factor(self, clock: str) -> float:
        """Give what turns seconds measured now into seconds of the machine that is meant.

        Args:
            clock: `cpu_s` or `wall_s`: what was measured.
        """
        if not self.samples:
            return 1.0
        meant = float(self._profile.parameters["calibration_s"])
        return fmean(meant / getattr(sample, clock) for sample in self.samples)

    @cached_property
    def _work(self) -> "Work":
        work = Work()
        work.do(WARM_UP_STEPS)
        return work


class Work:
    """Training of a small GPT of the kind that is finetuned, always on the same tokens."""

    def __init__(self) -> None:
        import torch

        from openrebench.textbase.gpt import GPT, GPTConfig

        config = GPTConfig(vocabulary=2048, context=64, layers=4, heads=4, width=128)
        draw = torch.Generator().manual_seed(0)
        self._model = GPT(config)
        self._tokens = torch.randint(config.vocabulary, (BATCH, config.context + 1), generator=draw)
        self._optimiser = torch.optim.AdamW(self._model.parameters(), lr=1e-4, foreach=False)

    def do(self, steps: int) -> None:
        """Take some steps."""
        for _ in range(steps):
            self._model.loss(self._tokens).backward()
            self._optimiser.step()
            self._optimiser.zero_grad()
