"""Score llm_foundry on this GPU, and measure how far honest changes and cheats drift.

    PYTHONPATH=src python benchmarks/gpu/llm_foundry.py OUT.json [--profile gpu] [--seconds 225]

Needs a worker environment with a CUDA torch, safetensors and PyYAML (OPENREBENCH_WORKER_ENV). What does
not fit into the budget any more is left out and named in `left_out`; the file is written after every step.
"""

import argparse
import json
import shutil
import tempfile
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from statistics import median
from typing import Any

import torch

from openrebench.core.catalog import load_environment
from openrebench.core.environment import Environment
from openrebench.core.scoring import score_submission
from openrebench.environments.llm_foundry.hidden.pool import TIMED, Pool
from openrebench.environments.llm_foundry.runs import finetune
from openrebench.environments.llm_foundry.verdict import LOSSES, loss_gap, measure_drift
from openrebench.isolation.device import device_fingerprint
from openrebench.isolation.local import LocalRunner

TOTAL = 'total = batches_of(config["max_duration"], per_epoch)'
HALF = 'half = config.get("precision", "fp32") == "amp_bf16"'
TF32 = 'torch.set_float32_matmul_precision("high")'
EAGER = "mixed = F.scaled_dot_product_attention(split[0], split[1], split[2], is_causal=True)"
MATH = (
    "s = (split[0] @ split[1].transpose(-1, -2) / split[0].shape[-1] ** 0.5).float()\n"
    "    s = s.masked_fill(torch.ones(t, t, device=s.device).triu(1).bool(), -1e30)\n"
    "    mixed = s.softmax(-1).to(split[2].dtype) @ split[2]"
)
# The reference with one thing changed: name, file, text, replacement. Honest ones first.
CHANGES = {
    "reference, attention step by step": ("model.py", EAGER, MATH),
    "reference in TF32": ("run.py", HALF, f"half = False\n    {TF32}"),
    "reference, last 5 % of steps skipped": (
        "run.py", TOTAL, f"{TOTAL}\n    total -= max(1, round(total * 0.05))",
    ),
    "reference, last 10 % of steps skipped": (
        "run.py", TOTAL, f"{TOTAL}\n    total -= max(1, round(total * 0.1))",
    ),
    "reference in fp32": ("run.py", HALF, "half = False"),
    "reference, rate x 1.1": ("run.py", 'self.peak = config["optimizer"]["lr"]', 'self.peak = 1.1 * config["optimizer"]["lr"]'),
}  # fmt: skip


class Bench:
    def __init__(self, arguments: argparse.Namespace) -> None:
        self.path, self.budget_s = arguments.out, arguments.seconds
        self.name, self.started = arguments.profile, time.monotonic()
        self.environment = self.tolerant(load_environment("llm_foundry"))
        self.profile = self.environment.card.profile(self.name)
        device = device_fingerprint(self.profile.device)
        self.found: dict[str, Any] = {
            "device": device.gpu or device.cpu, "driver": device.driver, "date": f"{datetime.now(UTC):%Y-%m-%d}",
            "torch": torch.__version__, "profile": self.name, "parameters": dict(self.profile.parameters),
            "raw_s": {"start": [], "reference": []}, "seconds": {}, "drift": {}, "steps": [], "left_out": [],
        }  # fmt: skip

    def tolerant(self, environment: Environment) -> Environment:
        """The environment with one variant and tolerances that nothing misses: drift is what is measured."""
        card = environment.card
        profile = card.profile(self.name)
        wide = {"tolerance": 1e9, "loss_tolerance": 1e9, "pool": 1}
        profile = profile.model_copy(update={"parameters": profile.parameters | wide})
        return type(environment)(card.model_copy(update={"profiles": {self.name: profile}}))

    def step(self, name: str, work: Callable[[], None], needs_s: float) -> None:
        elapsed = time.monotonic() - self.started
        if elapsed + needs_s > self.budget_s:
            self.found["left_out"].append(name)
        else:
            work()
            took = time.monotonic() - self.started - elapsed
            self.found["steps"].append([name, round(took, 1)])
            print(name, f"{took:.1f} s", flush=True)
        self.path.write_text(json.dumps(self.found, indent=1, default=str) + "\n")

    def score(self, name: str, folder: Path, runner: LocalRunner) -> None:
        result = score_submission(
            self.environment, folder, self.name, runner, on_error=lambda _, t: print(t)
        )
        self.found["raw_s"][name].append(result.raw)
        self.found["seconds"][name] = round(result.seconds, 1)
        self.found["drift"].setdefault(
            f"score of {name}", dict(result.details) | {"message": result.message}
        )
        print(result.outcome, result.message, flush=True)

    def drift(self, name: str, folder: Path, runner: LocalRunner) -> None:
        (variants,) = Pool(self.profile).variants()
        file, old, new = CHANGES[name]
        with tempfile.TemporaryDirectory() as scratch:
            changed = Path(scratch) / "submission"
            shutil.copytree(folder, changed)
            text = (changed / file).read_text()
            assert old in text, name
            (changed / file).write_text(text.replace(old, new, 1) if old else text)
            variant = variants[TIMED]
            with finetune(changed, variant, runner, self.profile) as run:
                found = measure_drift(run.output, variant.truth, variant.base, self.profile.device)
                losses = json.loads((run.output / LOSSES).read_text())
                same = len(losses) == len(json.loads((variant.truth / LOSSES).read_text()))
                gap = loss_gap(run.output / LOSSES, variant.truth / LOSSES) if same else None
                self.found["drift"][name] = found | {
                    "loss_gap": gap,
                    "wall_s": run.wall_s,
                    "losses": losses[:1] + losses[-1:],
                }
        print({k: float(f"{v:.3g}") for k, v in found.items()}, flush=True)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("out", type=Path)
    parser.add_argument("--profile", default="gpu")
    parser.add_argument("--seconds", type=float, default=225)
    bench = Bench(parser.parse_args())
    start, reference = (bench.environment.card.folder / f for f in ("agent", "hidden/reference"))
    with LocalRunner() as runner:
        bench.found["isolation"] = str(runner.mode)
        bench.step("pool of one variant", lambda: Pool(bench.profile).fill(1, runner), 0)
        costs = [
            json.loads(p.read_text()) for p in Pool(bench.profile).folder.glob("v*/timed/cost.json")
        ]
        bench.found["start_runs_of_the_pool"] = costs
        slow_s = bench.found["steps"][0][1]
        quick_s = slow_s / 2
        for number in (1, 2):
            bench.step(
                f"reference {number}", lambda: bench.score("reference", reference, runner), quick_s
            )
            quick_s = bench.found["steps"][-1][1]
        for name in CHANGES:
            bench.step(name, lambda name=name: bench.drift(name, reference, runner), quick_s)
        for number in (1, 2, 3):
            bench.step(f"start {number}", lambda: bench.score("start", start, runner), slow_s)
        bench.step("reference 3", lambda: bench.score("reference", reference, runner), quick_s)
    raw = {name: [r for r in rows if r] for name, rows in bench.found["raw_s"].items()}
    if all(raw.values()):
        scale = bench.environment.card.score.scale(
            *(median(raw[k]) for k in ("start", "reference"))
        )
        bench.found["normalised"] = {
            k: [round(scale.normalize(r), 4) for r in rows] for k, rows in raw.items()
        }
    bench.path.write_text(json.dumps(bench.found, indent=1, default=str) + "\n")


if __name__ == "__main__":
    main()
