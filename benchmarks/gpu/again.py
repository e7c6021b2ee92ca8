"""Score prefix_sum's solutions over and over on this GPU.

    PYTHONPATH=src python benchmarks/gpu/again.py OUT.json reference best reference ...

Names are folders below `hidden`. OUT.json is written after every score: for each name a list of its scores.
"""

import json
import sys
from datetime import UTC, datetime
from pathlib import Path

from openrebench.core.catalog import load_environment
from openrebench.core.scoring import score_submission
from openrebench.isolation.device import device_fingerprint
from openrebench.isolation.local import LocalRunner


def main() -> None:
    out, names = Path(sys.argv[1]), sys.argv[2:]
    environment, device = load_environment("prefix_sum"), device_fingerprint("cuda")
    facts = {"device": device.gpu, "driver": device.driver, "date": f"{datetime.now(UTC):%Y-%m-%d}"}
    scores: dict[str, list[dict[str, object]]] = {name: [] for name in names}
    with LocalRunner() as runner:
        for name in names:
            folder = environment.card.folder / "hidden" / name
            result = score_submission(environment, folder, "gpu", runner)
            row = {"ms": result.raw, "seconds": round(result.seconds, 1), "flags": result.flags}
            scores[name].append(row | {k: v for k, v in result.details.items() if k != "times_ms"})
            print(name, scores[name][-1], flush=True)
            out.write_text(json.dumps(facts | scores, indent=1) + "\n")


if __name__ == "__main__":
    main()
