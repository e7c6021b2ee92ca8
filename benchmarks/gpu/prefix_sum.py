"""Score prefix_sum on this GPU through the trusted parent, and try the GPU cheats.

    PYTHONPATH=src python benchmarks/gpu/prefix_sum.py OUT.json [SCORES]

Beside each score stands the time of the same kernel by CUDA events in a process of its own.
"""

import inspect
import json
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path
from statistics import median

from kernels import HERE, N, load, timed_ms

from openrebench.core.catalog import load_environment
from openrebench.core.contract import cheat_submission
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


def gpu_processes() -> int:
    said = subprocess.run(
        ["nvidia-smi", "--query-compute-apps=pid", "--format=csv,noheader"],
        capture_output=True,
        text=True,
    )
    return len(said.stdout.split())


def main() -> None:
    out, runs = Path(sys.argv[1]), int((*sys.argv[2:], "10")[0])
    environment = load_environment("prefix_sum")
    device = device_fingerprint("cuda")
    found = {
        "device": device.gpu,
        "driver": device.driver,
        "date": f"{datetime.now(UTC):%Y-%m-%d}",
        "n": N,
    }
    found["events_ms"] = events_ms()
    print(found, flush=True)
    with LocalRunner() as runner:
        found["isolation"] = str(runner.mode)
        found["raw_ms"], found["seconds"], found["details"] = {}, {}, {}
        for name, folder in SOLUTIONS.items():
            results = [
                score_submission(environment, HERE / folder, "gpu", runner) for _ in range(runs)
            ]
            found["raw_ms"][name] = [r.raw for r in results]
            found["seconds"][name] = round(median(r.seconds for r in results), 2)
            found["details"][name] = [dict(r.details) | {"flags": r.flags} for r in results[:2]]
            print(
                name, found["raw_ms"][name], found["seconds"][name], results[0].message, flush=True
            )
        found["cheats"] = {}
        for cheat in sorted((HERE / "tests" / "cheats_gpu").iterdir()):
            with cheat_submission(environment.card, cheat) as folder:
                r = score_submission(environment, folder, "gpu", runner)
            found["cheats"][cheat.name] = {
                "outcome": str(r.outcome),
                "raw_ms": r.raw,
                "message": r.message,
                "flags": r.flags,
                "gpu_processes_after": gpu_processes(),
            }
            print(cheat.name, found["cheats"][cheat.name], flush=True)
            out.write_text(json.dumps(found, indent=1, default=str) + "\n")
    found["copy_ms"], found["best_ms"] = found["events_ms"]["copy"], found["events_ms"]["best"]
    out.write_text(json.dumps(found, indent=1, default=str) + "\n")


if __name__ == "__main__":
    main()
