"""Measure the anchors of restricted_mlm/gpu on this GPU.

    PYTHONPATH=src python benchmarks/gpu/restricted_mlm.py FOLDER [PROFILE]

Writes FOLDER/restricted_mlm.json and the anchors file.
"""

import json
import sys
import time
from datetime import UTC, datetime
from pathlib import Path

from openrebench.core.catalog import load_environment
from openrebench.core.measuring import Progress, measure_anchors
from openrebench.isolation.device import device_fingerprint
from openrebench.isolation.local import LocalRunner


def main() -> None:
    def tell(progress: Progress) -> None:
        """Keep what there is: start and reference in turn."""
        rows.append((progress.result.raw, round(progress.result.seconds, 2)))
        (folder / "restricted_mlm.json").write_text(json.dumps({"raw_and_seconds": rows}) + "\n")
        print(progress.done, rows[-1], progress.result.message, flush=True)

    rows: list[tuple[float | None, float]] = []
    folder, profile = Path(sys.argv[1]), (*sys.argv[2:], "gpu")[0]
    environment, device = load_environment("restricted_mlm"), device_fingerprint("cuda")
    started = time.monotonic()
    with LocalRunner() as runner:
        anchors = measure_anchors(environment, profile, runner, runs=5, on_progress=tell)
    anchors.save(folder / "restricted_mlm")
    scale = anchors.scale(environment.card)
    raw = {"start": anchors.start, "reference": anchors.reference}
    found = {
        "device": device.gpu,
        "driver": device.driver,
        "date": f"{datetime.now(UTC):%Y-%m-%d}",
        "isolation": anchors.isolation,
        "unit": "nats",
        "raw": raw,
        "normalised": {k: [round(scale.normalize(r), 4) for r in v] for k, v in raw.items()},
        "final_nats": {"start": anchors.final_start, "reference": anchors.final_reference},
        "seconds_a_score": anchors.score_call_s,
        "seconds_in_all": round(time.monotonic() - started, 1),
    }
    (folder / "restricted_mlm.json").write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
