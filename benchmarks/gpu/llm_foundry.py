"""Measure llm_foundry at `gpu`: how far changes drift, its anchors, and what several GPUs do.

    PYTHONPATH=src python benchmarks/gpu/llm_foundry.py FOLDER distances   # makes the pool first
    PYTHONPATH=src python benchmarks/gpu/llm_foundry.py FOLDER anchors
    PYTHONPATH=src python benchmarks/gpu/llm_foundry.py FOLDER parallel    # on all GPUs together

CUDA_VISIBLE_DEVICES=0 keeps a run to one GPU of several. The worker environment (OPENREBENCH_WORKER_ENV) needs
a CUDA torch, safetensors and PyYAML. FOLDER/llm_foundry.json (or llm_foundry-distances.json, ...) is written after every step.
"""

import argparse
import json
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import torch

from openrebench.core.catalog import load_environment
from openrebench.core.environment import Environment
from openrebench.core.measuring import measure_anchors
from openrebench.core.scoring import score_submission
from openrebench.environments.llm_foundry.hidden import honest
from openrebench.environments.llm_foundry.hidden.honest import PEAK, TOTAL
from openrebench.environments.llm_foundry.hidden.pool import Pool
from openrebench.isolation.device import device_fingerprint
from openrebench.isolation.local import LocalRunner
from openrebench.isolation.runner import Limits

HALF = 'half = config.get("precision", "fp32") == "amp_bf16"'
ATTENTION = "mixed = F.scaled_dot_product_attention(split[0], split[1], split[2], is_causal=True)"
STEPWISE = (
    "s = (split[0] @ split[1].transpose(-1, -2) / split[0].shape[-1] ** 0.5).float()\n"
    "    s = s.masked_fill(torch.ones(t, t, device=s.device).triu(1).bool(), -1e30)\n"
    "    mixed = s.softmax(-1).to(split[2].dtype) @ split[2]"
)
SKIPPED = f"{TOTAL}\n    total -= max(1, round(total * {{share}}))"
# The reference with one thing changed. Honest: the same steps in other arithmetic.
HONEST = {
    "the reference": (),
    "attention step by step": (("model.py", ATTENTION, STEPWISE),),
    "TF32": (("run.py", HALF, 'half = False\n    torch.set_float32_matmul_precision("high")'),),
    "fp32": (("run.py", HALF, "half = False"),),
}
CHEATS = {
    "last 5 % of the steps skipped": (("run.py", TOTAL, SKIPPED.format(share=0.05)),),
    "last 10 % of the steps skipped": (("run.py", TOTAL, SKIPPED.format(share=0.1)),),
    "last 5 % skipped, rate x 1.07": (
        ("run.py", TOTAL, SKIPPED.format(share=0.05)), ("run.py", PEAK, f"{PEAK} * 1.07"),
    ),
    "rate x 1.1": (("run.py", PEAK, f"{PEAK} * 1.1"),),
}  # fmt: skip
CHANGES = {"honest": HONEST, "cheats": CHEATS}
AT_ONCE = 3  # their time does not count
ANCHOR_RUNS = 3
SUM = """
import os, torch, torch.distributed as dist
torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
dist.init_process_group("nccl")
x = torch.full((64 << 20,), 1.0 + dist.get_rank(), device="cuda")
dist.all_reduce(x)
start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
start.record()
for _ in range(10):
    dist.all_reduce(x)
end.record()
torch.cuda.synchronize()
print(dist.get_rank(), torch.cuda.get_device_name(), "256 MiB summed in", start.elapsed_time(end) / 10, "ms")
dist.destroy_process_group()
"""


class Bench:
    """One kind of measurement, written down after every step."""

    def __init__(self, folder: Path, what: str) -> None:
        name = "llm_foundry" if what == "anchors" else f"llm_foundry-{what}"
        self.folder, self.path = folder, folder / f"{name}.json"
        self.environment, self.started = load_environment("llm_foundry"), time.monotonic()
        self.profile = self.environment.card.profile("gpu")
        self.reference = self.environment.card.folder / "hidden" / "reference"
        device = device_fingerprint("cuda")
        self.found: dict[str, Any] = {
            "device": device.gpu, "gpus": device.gpus, "driver": device.driver,
            "date": f"{datetime.now(UTC):%Y-%m-%d}", "torch": torch.__version__, "profile": "gpu",
        }  # fmt: skip

    def keep(self, **more: object) -> None:
        self.found |= {**more, "seconds_so_far": round(time.monotonic() - self.started, 1)}
        self.path.write_text(json.dumps(self.found, indent=1, default=str) + "\n")
        print(more, flush=True)

    def distances(self, runner: LocalRunner) -> None:
        """Fill the pool, then let the reference run with its changes."""
        pool = Pool(self.profile)
        pool.fill(self.profile.integer("pool"), runner)
        self.keep(pool=[json.loads(p.read_text()) for p in pool.folder.glob("v*/timed/cost.json")])
        rows: dict[str, dict[str, object]] = {kind: {} for kind in CHANGES}

        def measured(change: tuple[str, str]) -> None:
            kind, name = change
            with honest.patched(self.reference, CHANGES[kind][name]) as folder:
                rows[kind][name] = honest.measure(folder, self.profile, runner)
            self.keep(**rows)

        with ThreadPoolExecutor(AT_ONCE) as at_once:
            list(
                at_once.map(measured, [(kind, name) for kind in CHANGES for name in CHANGES[kind]])
            )

    def anchors(self, runner: LocalRunner) -> None:
        """Score start and reference in turn."""
        results = []

        def tell(progress: Any) -> None:
            results.append(progress.result)
            self.keep(scores=[[r.raw, round(r.seconds, 1), r.details] for r in results])

        anchors = measure_anchors(
            self.environment, "gpu", runner, runs=ANCHOR_RUNS, on_progress=tell
        )
        anchors.save(self.folder / "llm_foundry")
        scale = anchors.scale(self.environment.card)
        raw = {"start": anchors.start, "reference": anchors.reference}
        self.keep(
            isolation=anchors.isolation,
            unit="s",
            raw=raw,
            normalised={k: [round(scale.normalize(r), 4) for r in v] for k, v in raw.items()},
            seconds_a_score=anchors.score_call_s,
        )

    def parallel(self, runner: LocalRunner) -> None:
        """Score on all GPUs against truths that one GPU made; tolerances that nothing misses."""
        self.keep(summed=summed(runner, self.found["gpus"]))
        environment = tolerant(self.environment)
        solutions = {"reference": self.reference, "start": self.environment.card.folder / "agent"}
        for name in ("reference", "start", "reference", "start"):
            result = score_submission(
                environment, solutions[name], "gpu", runner, on_error=lambda _, trace: print(trace)
            )
            rows = self.found.get(name, [])
            rows.append([result.raw, round(result.seconds, 1), result.message, result.details])
            self.keep(**{name: rows})


def summed(runner: LocalRunner, gpus: int) -> str:
    """Let one process for each GPU of a sandbox add up a tensor; gives what they print."""
    with TemporaryDirectory() as scratch:
        folder = Path(scratch) / "workspace"
        folder.mkdir()
        (folder / "sum.py").write_text(SUM)
        launch = f"export NCCL_SOCKET_IFNAME=lo NCCL_DEBUG=WARN; python -m torch.distributed.run --nproc_per_node={gpus}"
        result = runner.run(
            ["bash", "-c", f"{launch} --master_addr=127.0.0.1 --master_port=29500 sum.py"],
            workspace=folder,
            limits=Limits(memory_bytes=64 << 30, processes=4096, tmp_bytes=8 << 30),
            device="cuda",
        )
    return result.output.decode(errors="replace")[-4000:]


def tolerant(environment: Environment) -> Environment:
    """The environment with tolerances that nothing misses: distances are what is measured."""
    profile = environment.card.profile("gpu")
    wide = {"tolerance": 1e9, "loss_tolerance": 1e9, "ahead_tolerance": 1e9}
    profile = profile.model_copy(update={"parameters": profile.parameters | wide})
    return type(environment)(environment.card.model_copy(update={"profiles": {"gpu": profile}}))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("what", choices=("distances", "anchors", "parallel"))
    options = parser.parse_args()
    bench = Bench(options.folder, options.what)
    measure: Callable[[LocalRunner], None] = getattr(bench, options.what)
    with LocalRunner() as runner:
        measure(runner)


if __name__ == "__main__":
    main()
