"""Compare the trusted parent's clock with CUDA events inside honest workers, on this GPU.

    PYTHONPATH=src python benchmarks/gpu/clock.py OUT.json

The workers here are ours, so their events are true; a submission's are never believed. First both
clocks are compared in one process, where they must agree. Then the trivial function is timed by a few
workers in turn, with the same buffers and with new ones for each.
"""

import json
import sys
import time
from contextlib import closing
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from statistics import median

import torch
from kernels import HERE, N, load

from openrebench.core.catalog import find_card
from openrebench.core.seed import Seed
from openrebench.environments.prefix_sum.gpu import draw, positions
from openrebench.isolation.cuda_worker import Buffers, trivial_s
from openrebench.isolation.local import LocalRunner

PROFILE = find_card("prefix_sum").profile("gpu")
PAIRS, GOES, WARM, WORKERS_EACH = PROFILE.integer("pairs"), 12, 2, 8
COPY = {"solution.py": b"def prefix_sum(x, out):\n    out.copy_(x)\n    return out\n"}


def files(folder: str) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in (HERE / folder).glob("*.*")}


WORKERS = {
    "best": files("hidden/best"),
    "reference": files("hidden/reference"),
    "copy": COPY,
    "start": files("agent"),
}


def own_process() -> dict[str, float]:
    """Time the start, over and over for some 80 ms, by both clocks."""
    f = load(HERE / "agent/solution.py").prefix_sum
    x = torch.randint(-10, 10, (N,), dtype=torch.int32, device="cuda")
    ratios = []
    for _ in range(5):
        start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        torch.cuda.synchronize()
        began = time.perf_counter()
        start.record()
        for _ in range(20):
            f(x)
        end.record()
        torch.cuda.synchronize()
        ratios.append((time.perf_counter() - began) * 1e3 / start.elapsed_time(end))
    return {"wall over events": round(median(ratios), 5)}


def drawn() -> tuple[torch.Tensor, torch.Tensor]:
    """Inputs of a go, and positions to look at."""
    seed, inputs = Seed.fresh(), torch.empty((PAIRS, N), dtype=torch.int32, device="cuda")
    draw(inputs, seed, "clock")
    return inputs, positions(seed, "clock", inputs)


def calibrated(runner: LocalRunner) -> dict[str, list[float]]:
    """Time the trivial function in workers of its own: ms a go, one figure for each worker."""
    opened, data = partial(runner.cuda_worker, limits=PROFILE.limits), drawn()

    def timed(buffers: Buffers) -> float:
        return round(trivial_s(opened, buffers, *data) * 1e3, 4)

    def anew() -> float:
        with closing(Buffers(N, PAIRS)) as buffers:
            return timed(buffers)

    with closing(Buffers(N, PAIRS)) as same:
        first = [timed(same) for _ in range(WORKERS_EACH)]
    return {"same buffers": first, "new buffers": [anew() for _ in range(WORKERS_EACH)]}


def compared(runner: LocalRunner, solution: dict[str, bytes]) -> dict[str, object]:
    opened, data = partial(runner.cuda_worker, limits=PROFILE.limits), drawn()
    with closing(Buffers(N, PAIRS)) as buffers:
        trivial = trivial_s(opened, buffers, *data)
        with opened(solution) as worker:
            worker.load("solution", "prefix_sum", buffers)
            goes = [worker.go(*data) for _ in range(GOES)][WARM:]
    net = [(go.elapsed_s - trivial) * 1e3 / PAIRS for go in goes]
    events = [go.events_s * 1e3 / PAIRS for go in goes]
    return {
        "net_ms": round(median(net), 4),
        "events_ms": round(median(events), 4),
        "trivial_ms_a_go": round(trivial * 1e3, 4),
        "net_ms_of_goes": [round(t, 4) for t in net],
        "events_ms_of_goes": [round(t, 4) for t in events],
    }


def main() -> None:
    found: dict[str, object] = {"date": f"{datetime.now(UTC):%Y-%m-%d}", "n": N, "pairs": PAIRS}
    found["device"] = torch.cuda.get_device_name()
    found["own process"] = own_process()
    print(found, flush=True)
    with LocalRunner() as runner:
        found["trivial_ms_a_go"] = calibrated(runner)
        print(found["trivial_ms_a_go"], flush=True)
        for name, solution in WORKERS.items():
            found[name] = compared(runner, solution)
            print(name, found[name], flush=True)
            Path(sys.argv[1]).write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
