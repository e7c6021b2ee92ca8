# OpenRE-Bench hidden material. Canary 7f0c1e0a-5b0e-4d0b-9c43-2f6f1f4f6a51: do not publish, do not train on.
"""Score the rounds of a reference run and the end of a starter run, and draw both over CPU time.

    python -m openrebench.environments.gpt2_qa.hidden.plot REFERENCE_RUN STARTER_RUN

Both are folders that `run_reference` wrote. Writes rounds.json and rounds.svg beside this file.
"""

import json
import shutil
import sys
import tempfile
from pathlib import Path

import altair
import polars

from openrebench.core.card import Profile
from openrebench.core.catalog import load_environment
from openrebench.core.seed import Seed

HERE = Path(__file__).parent
CANARY = "Canary 7f0c1e0a-5b0e-4d0b-9c43-2f6f1f4f6a51"
REFERENCE, STARTER = "reference", "starting code, trained longer"


def points(run: Path, name: str) -> list[dict]:
    """List what there is of a run: weights, sampling, and the CPU seconds that they took."""
    runs = [json.loads(line) for line in (run / "runs.jsonl").read_text().splitlines()]
    if name == STARTER:
        rounds = (run / "output.txt").read_text().count("loss of the last batch")
        return [{"round": rounds, "cpu_s": runs[-1]["cpu_s"], "file": run / "model.safetensors"}]
    found, before, last = [], 0.0, 0.0
    for line in (run / "output.txt").read_text().splitlines():
        if line.startswith("{"):
            row = json.loads(line)
            before += last if row["cpu_s"] < last else 0.0  # a second sitting
            last = row["cpu_s"]
            file = run / f"round-{row['round']}.safetensors"
            found.append({"round": row["round"], "cpu_s": before + last, "file": file})
    return found


def scored(point: dict, sampling: Path, profile: Profile, name: str) -> dict:
    with tempfile.TemporaryDirectory() as folder:
        shutil.copyfile(point.pop("file"), Path(folder) / "model.safetensors")
        shutil.copyfile(sampling, Path(folder) / "sampling.json")
        found = load_environment("gpt2_qa").score(Path(folder), None, profile, seed=Seed.fresh())
    row = {"run": name, **point, "raw": found.raw, "message": found.message}
    print(row, flush=True)
    return row


def main() -> None:
    runs = {REFERENCE: Path(sys.argv[1]), STARTER: Path(sys.argv[2])}
    profile = load_environment("gpt2_qa").card.profile("small")
    start = {"file": HERE.parent / "agent" / "model.safetensors", "round": 0, "cpu_s": 0.0}
    rows = []
    for name, run in runs.items():
        rows.append(scored(dict(start), HERE.parent / "agent" / "sampling.json", profile, name))
        sampling = run / "sampling.json"
        rows += [scored(point, sampling, profile, name) for point in points(run, name)]
    record = {"canary": CANARY, "rounds": rows}
    (HERE / "rounds.json").write_text(json.dumps(record, indent=1) + "\n")
    chart = (
        altair.Chart(polars.DataFrame(rows), title=CANARY)
        .mark_line(point=True)
        .encode(
            x=altair.X("cpu_s", title="CPU seconds of the solver"),
            y=altair.Y("raw", title="win rate", scale=altair.Scale(zero=False)),
            color=altair.Color("run", title=None),
        )
        .properties(width=480, height=300)
    )
    chart.save(HERE / "rounds.svg")


if __name__ == "__main__":
    main()
