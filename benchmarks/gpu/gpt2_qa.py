"""Make the models of gpt2_qa/gpu on a GPU, run the reference there, and score start and reference.

PYTHONPATH=src python benchmarks/gpu/gpt2_qa.py OUT_FOLDER [--scores 3] [--rounds 6]

Nothing of this has been measured yet: no device time was left when it was written.
"""

import argparse
import json
import shutil
import tempfile
from pathlib import Path

import torch

from openrebench.core.catalog import load_environment
from openrebench.core.scoring import score_submission
from openrebench.core.seed import Seed
from openrebench.core.workspace import stage
from openrebench.environments.gpt2_qa import sources
from openrebench.environments.gpt2_qa.hidden import make_gpu, run_reference
from openrebench.isolation.local import LocalRunner


def scored(environment, folder: Path, profile: str, runner: LocalRunner, times: int) -> list[dict]:
    results = [score_submission(environment, folder, profile, runner) for _ in range(times)]
    rows = [
        {"raw": r.raw, "s": round(r.seconds, 1), "message": r.message, "flags": r.flags}
        for r in results
    ]
    for row in rows:
        print(folder.name, row, flush=True)
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out", type=Path)
    parser.add_argument("--scores", type=int, default=3)
    parser.add_argument("--rounds", type=int, default=6)
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    torch.set_float32_matmul_precision("high")
    environment = load_environment("gpt2_qa")
    profile = environment.card.profile("gpu")
    made = sources.folder(profile)
    record: dict[str, object] = {"device": torch.cuda.get_device_name(), "torch": torch.__version__}
    record["made_s"] = make_gpu.make(profile, make_gpu.Plan(), made)
    with LocalRunner() as runner, tempfile.TemporaryDirectory() as scratch:
        start = Path(scratch) / "start"
        stage(environment, "gpu", start, seed=Seed.fresh())
        record["start"] = scored(environment, start, "gpu", runner, options.scores)
        attempt = Path(scratch) / "attempt"
        record["reference_run"] = run_reference.solve(
            attempt, ["solve.py", "--rounds", str(options.rounds)], "gpu", runner
        )
        (made / "reference").mkdir(exist_ok=True)
        for name in environment.card.submission:
            shutil.copyfile(attempt / "workspace" / name, made / "reference" / name)
        record["reference"] = scored(environment, made / "reference", "gpu", runner, options.scores)
    (options.out / "gpt2_qa.json").write_text(json.dumps(record, indent=1) + "\n")


if __name__ == "__main__":
    main()
