"""The experiments: training runs, metered on this side and noted before they begin."""

import math
from typing import NamedTuple, cast, final

from openrebench.core.card import Profile
from openrebench.core.service import Journal, Refused, Request, Row, Service
from openrebench.environments.scaling_law.recipe import HEAD_WIDTH, Family
from openrebench.environments.scaling_law.training_process import Job, TrainingProcess, Trains

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
        trainer: What trains; a process of its own if None.
    """

    name = "runs"

    def __init__(
        self, profile: Profile, journal: Journal, *, trainer: Trains | None = None
    ) -> None:
        super().__init__(journal)
        self.family, self.device = Family.of(profile), profile.device
        self.per_run = float(profile.parameters["c_small"])
        self.allowance = float(profile.parameters["allowance"])
        self.max_runs = profile.integer("max_runs")
        self._trainer = trainer or TrainingProcess()

    def answer(self, request: Request) -> Request:
        """Train a model and give its loss; if nothing is asked, list all runs so far.

        Args:
            request: `n_embd`, `max_iters`, and optionally `learning_rate` and `seed`.

        Returns:
            `loss` in nats (null if it diverged), `flop` of the run, and what is used and left.

        Raises:
            Refused: The request is malformed, or costs more than a run or the allowance may.
        """
        if not request:
            return {**self._left(), "runs": [*history(self.journal.rows())]}
        run = _read(request)
        number, flop = self._book(run)
        try:
            loss = self._trainer.train(self._job(run))
        except BaseException:
            self.journal.append({"event": "failed", "run": number})
            raise
        result = round(loss, 5) if math.isfinite(loss) else None
        self.journal.append({"event": "done", "run": number, "loss": result})
        return {"loss": result, "flop": flop, **self._left()}

    def close(self) -> None:
        """End the training process; runs that wait fail."""
        self._trainer.close()

    def _job(self, run: Run) -> Job:
        tuned = self.family.peak_rate(run.n_embd, run.max_iters)
        return Job(
            family=self.family,
            n_embd=run.n_embd,
            max_iters=run.max_iters,
            rate=tuned if run.rate is None else run.rate,
            seed=run.seed,
            device=self.device,
        )

    def _book(self, run: Run) -> tuple[int, int]:
        """Charge a run before it begins; gives its number and its FLOP."""
        flop = self.family.flop(run.n_embd, run.max_iters)
        if flop > self.per_run:
            raise Refused(f"the run costs {flop:.4g} FLOP; a run may cost {self.per_run:.4g}")

        def decide(rows: list[Row]) -> Row:
            before = spent(rows)
            if before.runs >= self.max_runs:
                raise Refused(f"all {self.max_runs} runs are used up")
            if before.flop + flop > self.allowance:
                left = self.allowance - before.flop
                raise Refused(f"the run costs {flop:.4g} FLOP; {left:.4g} are left")
            number = sum(row["event"] == "begun" for row in rows)
            return {"event": "begun", "run": number, "flop": flop, **run._asdict()}

        return cast("int", self.journal.book(decide)["run"]), flop

    def _left(self) -> Row:
        used = spent(self.journal.rows())
        return {
            "flop_used": used.flop,
            "flop_left": int(self.allowance) - used.flop,
            "runs_left": self.max_runs - used.runs,
        }


def spent(rows: list[Row]) -> Spent:
    """Add up what was begun and did not fail by our fault."""
    failed = {row["run"] for row in rows if row["event"] == "failed"}
    begun = [row for row in rows if row["event"] == "begun" and row["run"] not in failed]
    return Spent(len(begun), sum(cast("int", row["flop"]) for row in begun))


def history(rows: list[Row]) -> list[Row]:
    """List the runs with their losses; one that is not finished has none."""
    losses = {row["run"]: row["loss"] for row in rows if row["event"] == "done"}
    return [
        {name: row[name] for name in Run._fields} | {"loss": losses.get(row["run"])}
        for row in rows
        if row["event"] == "begun"
    ]


def finished_flop(rows: list[Row]) -> int:
    """Add up the FLOP of the runs that gave a loss."""
    done = {row["run"] for row in rows if row["event"] == "done" and row["loss"] is not None}
    begun = [row for row in rows if row["event"] == "begun" and row["run"] in done]
    return sum(cast("int", row["flop"]) for row in begun)


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
