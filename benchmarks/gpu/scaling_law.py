"""Let the reference of scaling_law solve the profile `gpu` on this GPU, and score it and the start.

    PYTHONPATH=src python benchmarks/gpu/scaling_law.py FOLDER [PROFILE]

Writes FOLDER/scaling_law.json, with the answer and the journal of its training runs, and the anchors
file. An answer's score does not vary; what varies is another solution's training, once here.
"""

import json
import shutil
import sys
import tempfile
import time
from datetime import UTC, datetime
from pathlib import Path

from openrebench.core.catalog import load_environment
from openrebench.core.scoring import score_submission
from openrebench.environments.scaling_law.hidden.reference.run import run
from openrebench.isolation.device import device_fingerprint
from openrebench.isolation.local import LocalRunner

SCORES = 5


def main() -> None:
    folder, profile = Path(sys.argv[1]), (*sys.argv[2:], "gpu")[0]
    environment, device = load_environment("scaling_law"), device_fingerprint("cuda")
    started = time.monotonic()
    with tempfile.TemporaryDirectory() as scratch:
        answer = run(Path(scratch), profile)
        took_s = time.monotonic() - started
        shutil.copyfile(answer, folder / "scaling_law_answer.json")
        journal = (Path(scratch) / "runs.jsonl").read_text().splitlines()
        solutions = {"start": environment.card.folder / "agent", "reference": answer.parent}
        with LocalRunner() as runner:
            results = {
                name: [score_submission(environment, path, profile, runner) for _ in range(SCORES)]
                for name, path in solutions.items()
            }
    found = {
        "device": device.gpu,
        "driver": device.driver,
        "date": f"{datetime.now(UTC):%Y-%m-%d}",
        "answer": json.loads((folder / "scaling_law_answer.json").read_text()),
        "seconds_to_solve": round(took_s, 1),
        "runs": [json.loads(line) for line in journal],
        "unit": "points",
        "raw": {name: [r.raw for r in rows] for name, rows in results.items()},
        "details": {name: dict(rows[0].details) for name, rows in results.items()},
        "seconds_a_score": {name: rows[0].seconds for name, rows in results.items()},
    }
    (folder / "scaling_law.json").write_text(json.dumps(found, indent=1, default=str) + "\n")
    print({name: found[name] for name in ("answer", "raw", "seconds_to_solve")})


if __name__ == "__main__":
    main()
