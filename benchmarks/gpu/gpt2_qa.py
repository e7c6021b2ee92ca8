"""Make the models and the reference of gpt2_qa/gpu on a GPU, and measure its anchors.

    PYTHONPATH=src python benchmarks/gpu/gpt2_qa.py FOLDER [--quick]

Writes FOLDER/gpt2_qa.json, after every step, and the anchors file. `--quick` trains for a few steps only,
to see that everything runs on this machine; its scores say nothing.
"""

import argparse
import json
import time
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import torch

from openrebench.core.catalog import load_environment
from openrebench.core.measuring import measure_anchors
from openrebench.environments.gpt2_qa import sources
from openrebench.environments.gpt2_qa.hidden import make_gpu, run_reference
from openrebench.isolation.device import device_fingerprint
from openrebench.isolation.local import LocalRunner

PLAN = make_gpu.Plan()
QUICK = replace(
    PLAN, base_steps=20, reader_steps=20, pairs=2000,
    rival=replace(PLAN.rival, steps=10), judge=replace(PLAN.judge, steps=20),
)  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out", type=Path)
    parser.add_argument("--quick", action="store_true")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    torch.set_float32_matmul_precision("high")
    environment, device = load_environment("gpt2_qa"), device_fingerprint("cuda")
    profile, started = environment.card.profile("gpu"), time.monotonic()
    found: dict[str, object] = {"device": device.gpu, "driver": device.driver}
    found |= {"torch": torch.__version__, "date": f"{datetime.now(UTC):%Y-%m-%d}"}

    def keep(**more: object) -> None:
        found.update(more, seconds_so_far=round(time.monotonic() - started, 1))
        (options.out / "gpt2_qa.json").write_text(json.dumps(found, indent=1) + "\n")
        print(more, flush=True)

    plan = QUICK if options.quick else PLAN
    keep(made_s=make_gpu.make(profile, plan, sources.folder(profile)))
    with LocalRunner() as runner:
        rounds = 1 if options.quick else run_reference.ROUNDS
        facts = run_reference.make(environment, "gpu", runner, rounds)
        keep(reference_run=facts | {"output": facts["output"].splitlines()})
        results = []
        anchors = measure_anchors(
            environment, "gpu", runner, runs=5, on_progress=lambda p: results.append(p.result)
        )
    anchors.save(options.out / "gpt2_qa")
    scale = anchors.scale(environment.card)
    raw = {"start": anchors.start, "reference": anchors.reference}
    keep(
        isolation=anchors.isolation,
        raw=raw,
        normalised={k: [round(scale.normalize(r), 4) for r in v] for k, v in raw.items()},
        final={"start": anchors.final_start, "reference": anchors.final_reference},
        seconds_a_score=anchors.score_call_s,
        messages=[[r.message, dict(r.details), r.flags] for r in results[:2]],
    )


if __name__ == "__main__":
    main()
