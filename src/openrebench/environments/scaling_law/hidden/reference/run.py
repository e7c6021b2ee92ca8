# OpenRE-Bench hidden material. Canary 7f0c1e0a-5b0e-4d0b-9c43-2f6f1f4f6a51: do not publish, do not train on.
"""Run solve.py in a sandbox against a metered trainer, and keep its answer beside it.

PYTHONPATH=src python src/openrebench/environments/scaling_law/hidden/reference/run.py

On a GPU benchmarks/gpu/scaling_law.py does the same for the profile `gpu`.
"""

import shutil
import tempfile
import time
from pathlib import Path

from openrebench.core.catalog import load_environment
from openrebench.core.seed import Seed
from openrebench.core.service import open_door
from openrebench.core.workspace import stage
from openrebench.isolation.local import LocalRunner
from openrebench.isolation.runner import Limits

HERE = Path(__file__).parent


def run(folder: Path, profile: str = "small") -> Path:
    """Solve in a fresh workspace below a folder; gives the answer's path."""
    environment, workspace = load_environment("scaling_law"), folder / "workspace"
    stage(environment, profile, workspace, seed=Seed.fresh())
    shutil.copyfile(HERE / "solve.py", workspace / "solve.py")
    limits = Limits(call_timeout_s=1800)
    with LocalRunner() as runner:
        with open_door(environment, environment.card.profile(profile), folder, workspace):
            started = time.monotonic()
            done = runner.run(["python", "solve.py", profile], workspace=workspace, limits=limits)
    print(done.output.decode(), f"{time.monotonic() - started:.0f} s", sep="")
    if done.returncode:
        raise SystemExit(f"solve.py ended with {done.returncode}")
    return workspace / "answer.json"


def main() -> None:
    with tempfile.TemporaryDirectory() as scratch:
        answer = run(Path(scratch))
        journal = (Path(scratch) / "runs.jsonl").read_text()
        print(journal)
        shutil.copyfile(answer, HERE / "answer.json")


if __name__ == "__main__":
    main()
