# OpenRE-Bench hidden material. Canary 7f0c1e0a-5b0e-4d0b-9c43-2f6f1f4f6a51: do not publish, do not train on.
"""Measure what the reference's method, what statistics alone and what simple routes reach.

    OMP_NUM_THREADS=1 python -m openrebench.environments.fix_embedding.hidden.waypoints

runs all kinds of routes one after the other and writes anchors/waypoints-small.json. With a file's name
and a kind it runs that kind only, so that kinds can run side by side; simple routes then need to be told
the reference's seconds: `waypoints FILE scratch 120`. benchmarks/gpu/fix_embedding.py uses the same code.
"""

import copy
import json
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import torch
from torch import Tensor

from openrebench.core.card import Profile, TaskCard
from openrebench.core.seed import Seed
from openrebench.environments.fix_embedding.hidden import recover
from openrebench.environments.fix_embedding.hidden.build_reference import PLAN
from openrebench.environments.fix_embedding.hidden.damage import damaged, order
from openrebench.textbase import source, weights
from openrebench.textbase.gpt import GPT, mean_loss
from openrebench.textbase.training import windows

FOLDER = Path(__file__).parents[1]
TAUGHT_STEPS = 1500
LOOKS = 12  # at held-out text, while a simple route trains
Found = dict[str, dict[str, float]]


class Bench:
    """One damage of the large model, and all that an attempt at it has."""

    def __init__(self, name: str, profile: Profile, seed: Seed) -> None:
        self.device, self.plan = profile.device, PLAN[name]
        self.large, self.little = (source.model(profile, k) for k in ("large", "little"))
        self.given = damaged(self.large, seed, float(profile.parameters["severity"]))
        self.right = torch.from_numpy(order(self.large, seed)).argsort().to(self.device)
        text = source.tokens(profile, "dev")[: profile.integer("dev_tokens")]
        self.text = text.to(self.device)
        self.large, self.little = self.large.to(self.device), self.little.to(self.device)

    def start(self) -> GPT:
        """Give the damaged model."""
        return weights.model_of(self.given, self.large.config).to(self.device)

    def reordered(self, rows: Tensor) -> GPT:
        """Give the damaged model with its rows in another order, as they are."""
        return recover.put(self.start(), self.start().tokens.weight[rows].detach())

    def now(self) -> float:
        """Seconds of this process's CPU, or of the wall where a GPU does the work."""
        return time.process_time() if self.device == "cpu" else time.monotonic()

    def trained(self, model: GPT, rate: float, budget_s: float) -> GPT:
        """Train all weights for a time, and keep those that were best on held-out text."""
        text, held = recover.split(self.text)
        draw = torch.Generator(self.device).manual_seed(0)
        optimiser = torch.optim.AdamW(model.parameters(), lr=rate, betas=(0.9, 0.95), fused=True)
        best, kept, looked, started = float("inf"), model, 0, self.now()
        while (spent := self.now() - started) < budget_s:
            for group in optimiser.param_groups:
                group["lr"] = rate * (1 - spent / budget_s)
            batch = windows(text, self.plan["batch"], model.config.context, draw)
            model.train().loss(batch).backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimiser.step()
            optimiser.zero_grad()
            if spent > (looked + 1) * budget_s / LOOKS:
                looked += 1
                loss = mean_loss(model, held, batch=32)
                if loss < best:
                    best, kept = loss, copy.deepcopy(model)
        return kept


def statistics(bench: Bench, _: float) -> Iterator[tuple[str, GPT]]:
    """What nobody trains."""
    yield "intact", bench.large
    yield "small model", bench.little
    yield "start: damaged", bench.start()
    guessed = bench.start()
    first = recover.guess_rows(guessed, bench.little, recover.split(bench.text)[1])
    yield "statistics alone, rows as given", bench.reordered(first.rows)
    yield "statistics alone, rows blended with a map", guessed
    yield "the exact order, rows as given", bench.reordered(bench.right)


def method(bench: Bench, _: float) -> Iterator[tuple[str, GPT]]:
    """The reference's method, on another permutation."""
    model = recover.repaired(bench.start(), bench.little, bench.text, **bench.plan)
    yield "the reference's method", model


def scratch(bench: Bench, budget_s: float) -> Iterator[tuple[str, GPT]]:
    """Train a new model."""
    torch.manual_seed(0)
    fresh = GPT(bench.large.config).to(bench.device)
    yield "from scratch, the reference's compute", bench.trained(fresh, 3e-3, budget_s)


def taught(bench: Bench, _: float) -> Iterator[tuple[str, GPT]]:
    """Train a new model on what the small one predicts; the damaged one is not used at all."""
    torch.manual_seed(0)
    fresh, (text, _) = GPT(bench.large.config).to(bench.device), recover.split(bench.text)
    recover.fit(fresh, bench.little, text, TAUGHT_STEPS, 3e-3, 0.1, bench.plan["batch"])
    yield "from scratch, the small model as teacher", fresh.eval()


def finetuned(bench: Bench, budget_s: float) -> Iterator[tuple[str, GPT]]:
    """Train the damaged model."""
    model = bench.trained(bench.start(), 2e-3, budget_s)
    yield "damaged model finetuned, the same compute", model


KINDS = {kind.__name__: kind for kind in (statistics, method, scratch, taught, finetuned)}


def measured(name: str, kinds: list[str], budget_s: float, tell: Callable[[Found], None]) -> Found:
    """Give loss and seconds of all routes of some kinds; `tell` is told what there is so far.

    Args:
        name: Profile.
        kinds: Keys of `KINDS`; what follows `method` gets the seconds that it took.
        budget_s: What simple routes get where `method` did not run before them.
        tell: Told after each route.
    """
    profile = TaskCard.load(FOLDER).profile(name)
    bench = Bench(name, profile, Seed.fresh())
    score = source.tokens(profile, "score")[: profile.integer("score_tokens") + 1]
    found: Found = {}
    for kind in kinds:
        started = bench.now()
        for route, model in KINDS[kind](bench, budget_s):
            spent = bench.now() - started
            loss = mean_loss(model, score, batch=32)
            found[route] = {"loss_nats": round(loss, 4), "seconds": round(spent, 1)}
            budget_s = spent if kind == "method" else budget_s
            tell(dict(found))
    return found


def normalised(found: Found) -> Found:
    """Add each route's place between the start and the reference's method."""
    ends = found["start: damaged"]["loss_nats"], found["the reference's method"]["loss_nats"]
    scale = TaskCard.load(FOLDER).score.scale(*ends)
    return {
        route: row | {"normalised": round(scale.normalize(row["loss_nats"]), 3)}
        for route, row in found.items()
    }


def main() -> None:
    torch.set_num_threads(1)
    if len(sys.argv) > 2:
        path, kind, budget_s = Path(sys.argv[1]), sys.argv[2], float((*sys.argv[3:], "0")[0])
        measured("small", [kind], budget_s, lambda found: write(path, found))
    else:
        found = measured("small", list(KINDS), 0.0, lambda found: print(list(found.items())[-1]))
        write(FOLDER / "anchors" / "waypoints-small.json", normalised(found))


def write(path: Path, found: Found) -> None:
    """Write routes with what made them."""
    versions = {"threads": torch.get_num_threads(), "torch": str(torch.__version__)}
    record = {"script": "hidden/waypoints.py", **versions, "waypoints": found}
    path.write_text(json.dumps(record, indent=1) + "\n")


if __name__ == "__main__":
    main()
