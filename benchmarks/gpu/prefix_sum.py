"""Measure prefix_sum's anchors on this GPU, and score the fastest solution SCORES times.

    PYTHONPATH=src python benchmarks/gpu/prefix_sum.py FOLDER [SCORES]

Writes FOLDER/prefix_sum.json and the anchors file. Scores come from the trusted parent; beside them
stand the times of the same kernels by CUDA events in a process of its own. The cheats are tests:
`pytest -m gpu -s src/openrebench/environments/prefix_sum/tests/test_cheats_gpu.py`.
"""

import inspect
import json
import sys
from datetime import UTC, datetime
from pathlib import Path
from statistics import median

from kernels import HERE, N, load, timed_ms

from openrebench.core.catalog import load_environment
from openrebench.core.measuring import measure_anchors
from openrebench.core.scoring import score_submission
from openrebench.isolation.device import device_fingerprint
from openrebench.isolation.local import LocalRunner

SOLUTIONS = {"start": "agent", "reference": "hidden/reference", "best": "hidden/best"}


def events_ms() -> dict[str, float]:
    import torch

    x = torch.randint(-10, 10, (N,), dtype=torch.int32, device="cuda")
    y = torch.empty_like(x)
    found = {"copy": timed_ms(lambda x: y.copy_(x), x)}
    for name, folder in SOLUTIONS.items():
        # As in a score: the result ends up in the output's place.
        found[name] = timed_ms(in_place(load(HERE / folder / "solution.py").prefix_sum, y), x)
    return found


def in_place(f, y):
    if "out" in inspect.signature(f).parameters:
        return lambda x: f(x, y)
    return lambda x: y.copy_(f(x))


def main() -> None:
    folder, scores = Path(sys.argv[1]), int((*sys.argv[2:], "10")[0])
    environment, device = load_environment("prefix_sum"), device_fingerprint("cuda")
    events = events_ms()
    found = {
        "device": device.gpu,
        "driver": device.driver,
        "date": f"{datetime.now(UTC):%Y-%m-%d}",
        "n": N,
        "events_ms": events,
        "copy_ms": events["copy"],
        "best_ms": events["best"],
        "best_over_copy": round(events["best"] / events["copy"], 3),
    }
    print(found, flush=True)
    with LocalRunner() as runner:
        anchors = measure_anchors(environment, "gpu", runner, runs=5)
        anchors.save(folder)
        best = []
        for _ in range(scores):
            best.append(score_submission(environment, HERE / "hidden/best", "gpu", runner))
            print(best[-1].raw, best[-1].message, best[-1].flags, flush=True)
    scale = anchors.scale(environment.card)
    raw = {"start": anchors.start, "reference": anchors.reference, "best": [r.raw for r in best]}
    found |= {
        "isolation": anchors.isolation,
        "raw_ms": raw,
        "runtime_ms": {name: median(r for r in raws if r) for name, raws in raw.items()},
        "normalised": {
            name: [round(scale.normalize(r), 4) for r in raws if r] for name, raws in raw.items()
        },
        "seconds_a_score": round(median(r.seconds for r in best), 2),
        "best": [dict(r.details) | {"message": r.message, "flags": r.flags} for r in best],
    }
    (folder / "prefix_sum.json").write_text(json.dumps(found, indent=1, default=str) + "\n")
    print({name: found[name] for name in ("runtime_ms", "normalised", "raw_ms")})
    print(best[-1])


if __name__ == "__main__":
    main()
