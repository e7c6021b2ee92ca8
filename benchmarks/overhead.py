"""Print what a score costs beyond its own work, and what `--help` costs, as JSON.

Own work is what the environment itself does: drawing inputs, the oracle, comparing, and the timed
calls. The rest is isolation and bookkeeping.
"""

import json
import subprocess
import sys
import time
from pathlib import Path
from statistics import median

from openrebench.core.catalog import load_environment
from openrebench.core.environment import Environment, Measurement
from openrebench.core.scoring import score_submission
from openrebench.isolation.local import LocalRunner

INSTANT = "def f(x):\n    return x\n"
RUNS = 7


class Instant(Environment):
    """An environment whose submission returns its input: all that is left is overhead."""

    def score(self, submission, runner, profile, *, seed):
        import numpy as np

        x = seed.rng("x").integers(-10, 10, 1000, dtype=np.int32)
        with runner.worker(submission, profile.limits) as worker:
            worker.load("solution", "f", output_capacity_bytes=x.nbytes)
            call = worker.call(x, np.arange(8))
        return Measurement(raw=call.elapsed_s * 1e3, message="as fast as it goes")


def score_overhead_s(folder: Path) -> dict[str, float]:
    """Median and largest wall time of warm scores of an instant solution, in seconds."""
    (folder / "solution.py").write_text(INSTANT, encoding="utf-8")
    environment = Instant(load_environment("prefix_sum").card)
    seconds = []
    with LocalRunner() as runner:
        for _ in range(RUNS + 1):
            result = score_submission(environment, folder, "small", runner)
            assert result.raw is not None, result
            seconds.append(result.seconds)
            time.sleep(3)  # a solver does something between two scores
    warm = seconds[1:]
    return {"cold": seconds[0], "warm_median": median(warm), "warm_max": max(warm)}


def help_s() -> dict[str, float]:
    """Wall time of `re-bench --help` beside that of a bare interpreter, in seconds."""
    timed = {"help": ["-m", "openrebench", "--help"], "python": ["-c", "pass"]}
    found = {}
    for name, arguments in timed.items():
        runs = []
        for _ in range(RUNS):
            started = time.perf_counter()
            subprocess.run([sys.executable, *arguments], check=True, stdout=subprocess.DEVNULL)
            runs.append(time.perf_counter() - started)
        found[name] = median(runs)
    return found


def main() -> None:
    """Run both and print them."""
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        score = score_overhead_s(Path(folder))
    shown = {"score_overhead_s": score, "help_s": help_s()}
    print(json.dumps(shown, indent=1, default=str))


if __name__ == "__main__":
    main()
