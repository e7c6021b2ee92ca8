"""The experiments: training runs, metered on this side and noted before they begin."""

import math
from concurrent.futures import Executor, ProcessPoolExecutor
from multiprocessing import get_context
from threading import Lock
from typing import NamedTuple, final

from openrebench.core.card import Profile
from openrebench.core.service import Journal, Refused, Request, Row, Service
from openrebench.environments.scaling_law.recipe import HEAD_WIDTH, Family

MIN_WIDTH, MAX_WIDTH = 8, 256
MAX_SEED = 2**31 - 1
MAX_RATE = 1.0
KEYS = {"n_embd", "max_iters", "learning_rate", "seed"}


class Run(NamedTuple):
    """One experiment; a rate of None is the tuned one."""

    n_embd: int
    max_iters: int
    rate: float | None
    seed: int


class Spent(NamedTuple):
    """What an attempt's experiments have cost."""

    runs: int
    flop: int


@final
class Experiments(Service):
    """Trains what is asked for, one run at a time, within the allowance of one attempt.

    Args:
        profile: Whose sizes and caps hold.
        journal: The attempt's.
        trainer: Where runs are trained, in a process of its own; made when first needed if None.
    """

    name = "runs"

    def __init__(
        self, profile: Profile, journal: Journal, *, trainer: Executor | None = None
    ) -> None:
        super().__init__(journal)
        self.family, self.device = Family.of(profile), profile.device
        self.per_run = float(profile.parameters["c_small"])
        self.allowance = float(profile.parameters["allowance"])
        self.max_runs = profile.integer("max_runs")
        self._trainer, self._lock = trainer, Lock()

    def answer(self, request: Request) -> Request:
        """Train a model and give its loss, or only say what is left if nothing is asked.

        Args:
            request: `n_embd`, `max_iters`, and optionally `learning_rate` and `seed`.

        Returns:
            `loss` in nats (null if it diverged), `flop` of the run, and what is used and left.

        Raises:
            Refused: The request is malformed, or costs more than a run or the allowance may.
        """
        if not request:
            return self._left()
        run = _read(request)
        number, flop = self._book(run)
        try:
            loss = self._executor().submit(_train, self.family, run, self.device).result()
        except BaseException:
            self.journal.append({"event": "failed", "run": number})
            raise
        result = round(loss, 5) if math.isfinite(loss) else None
        self.journal.append({"event": "done", "run": number, "loss": result})
        return {"loss": result, "flop": flop, **self._left()}

    def close(self) -> None:
        """End the training process; runs that wait are dropped."""
        with self._lock:
            if self._trainer is not None:
                self._trainer.shutdown(wait=False, cancel_futures=True)

    def _book(self, run: Run) -> tuple[int, int]:
        """Charge a run before it begins; gives its number and its FLOP."""
        flop = self.family.flop(run.n_embd, run.max_iters)
        if flop > self.per_run:
            raise Refused(f"the run costs {flop:.4g} FLOP; a run may cost {self.per_run:.4g}")
        with self.journal.locked():
            rows = self.journal.rows()
            before = spent(rows)
            if before.runs >= self.max_runs:
                raise Refused(f"all {self.max_runs} runs are used up")
            if before.flop + flop > self.allowance:
                left = self.allowance - before.flop
                raise Refused(f"the run costs {flop:.4g} FLOP; {left:.4g} are left")
            number = sum(row["event"] == "begun" for row in rows)
            self.journal.append({"event": "begun", "run": number, "flop": flop, **run._asdict()})
        return number, flop

    def _left(self) -> Row:
        used = spent(self.journal.rows())
        return {
            "flop_used": used.flop,
            "flop_left": int(self.allowance) - used.flop,
            "runs_left": self.max_runs - used.runs,
        }

    def _executor(self) -> Executor:
        with self._lock:
            if self._trainer is None:
                self._trainer = ProcessPoolExecutor(1, mp_context=get_context("spawn"))
            return self._trainer


def spent(rows: list[Row]) -> Spent:
    """Add up what was begun and did not fail by our fault."""
    failed = {row["run"] for row in rows if row["event"] == "failed"}
    costs = [
        int(str(row["flop"])) for row in rows if row["event"] == "begun" and row["run"] not in failed
    ]
    return Spent(len(costs), sum(costs))


def finished(rows: list[Row]) -> int:
    """Count the runs that gave a loss."""
    return sum(row["event"] == "done" and row["loss"] is not None for row in rows)


def _read(request: Request) -> Run:
    extra = sorted(set(request) - KEYS)
    if extra:
        raise Refused(f"unknown key '{extra[0][:40]}'; a run has {', '.join(sorted(KEYS))}")
    n_embd = _integer(request, "n_embd", MIN_WIDTH, MAX_WIDTH)
    if n_embd % HEAD_WIDTH:
        raise Refused(f"n_embd must be a multiple of {HEAD_WIDTH}")
    steps = _integer(request, "max_iters", 1, 10**7)
    seed = _integer({"seed": 0, **request}, "seed", 0, MAX_SEED)
    return Run(n_embd, steps, _rate(request.get("learning_rate")), seed)


def _integer(request: Request, name: str, lowest: int, highest: int) -> int:
    value = request.get(name)
    if not isinstance(value, int) or isinstance(value, bool) or not lowest <= value <= highest:
        raise Refused(f"{name} must be an integer from {lowest} to {highest}")
    return value


def _rate(value: object) -> float | None:
    if value is None:
        return None
    if not isinstance(value, int | float) or isinstance(value, bool) or not 0 < value <= MAX_RATE:
        raise Refused(f"learning_rate must be a number above 0, at most {MAX_RATE:g}, or null")
    return float(value)


def _train(family: Family, run: Run, device: str) -> float:
    """Train in the training process, where torch is imported."""
    import torch

    from openrebench.environments.scaling_law import trainer

    torch.set_num_threads(1)
    tuned = family.peak_rate(run.n_embd, run.max_iters)
    return trainer.train(
        family,
        n_embd=run.n_embd,
        max_iters=run.max_iters,
        rate=tuned if run.rate is None else run.rate,
        seed=run.seed,
        device=device,
    )
