"""Compare the trusted parent's clock with CUDA events inside honest workers, on this GPU.

    PYTHONPATH=src python benchmarks/gpu/clock.py OUT.json

The workers here are ours and print their own events; a submission's are never believed.
"""

import json
import re
import sys
from pathlib import Path
from statistics import median

import torch
from kernels import HERE, N

from openrebench.core.catalog import find_card
from openrebench.isolation.cuda_worker import CudaWorker, trivial_s
from openrebench.isolation.local import LocalRunner

EVENTS = """
import torch
{body}
def f(x, out):
    a, b = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    a.record()
    work(x, out)
    b.record()
    kept.append((a, b))
    if len(kept) == {pairs} * {goes}:
        torch.cuda.synchronize()
        print('EVENTS', [round(a.elapsed_time(b), 4) for a, b in kept], flush=True)
    return out
kept = []
"""
GOES = 8
COPY = "def work(x, out): out.copy_(x)"


def body(folder: str) -> str:
    text = (HERE / folder / "solution.py").read_text()
    return text + "\ndef work(x, out): out.copy_(prefix_sum(x))"


def net_ms(runner: LocalRunner, text: str, pairs: int) -> dict[str, float]:
    limits = find_card("prefix_sum").profile("gpu").limits
    inputs = [torch.randint(-10, 10, (N,), dtype=torch.int32, device="cuda") for _ in range(pairs)]
    spots = [torch.randint(0, N, (65_536,), device="cuda") for _ in range(pairs)]
    trivial = trivial_s(lambda files: runner.cuda_worker(files, limits), inputs, spots)
    source = EVENTS.format(body=text, pairs=pairs, goes=GOES).encode()
    with runner.cuda_worker({"solution.py": source}, limits) as worker:
        worker.load("solution", "f", n=N, pairs=pairs)
        times = [worker.go(inputs, spots).elapsed_s for _ in range(GOES)]
        said = said_by(worker)
    events = [float(t) for t in re.findall(r"[\d.]+", said.partition("EVENTS")[2])][2 * pairs :]
    net = (median(times[2:]) - trivial) * 1e3 / pairs
    return {
        "net": round(net, 4),
        "events": round(median(events), 4),
        "trivial": round(trivial * 1e3, 4),
    }


def said_by(worker: CudaWorker) -> str:
    import time

    time.sleep(0.3)
    return worker._warm.box.output.decode("utf-8", "replace")


def main() -> None:
    found = {}
    with LocalRunner() as runner:
        for pairs in (8,):
            for name, text in (
                ("copy", COPY),
                ("start", body("agent")),
                ("reference", body("hidden/reference")),
            ):
                found[f"{name} x{pairs}"] = net_ms(runner, text, pairs)
                print(name, pairs, found[f"{name} x{pairs}"], flush=True)
    Path(sys.argv[1]).write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
