"""Score start and reference five times each beside a busy core; print whether all lie in the spread.

    python benchmarks/repeatability.py [ENVIRONMENT] [PROFILE]

Needs this machine's anchors (`re-bench anchors`). Exit status 1 if any run lies outside.
"""

import json
import subprocess
import sys

from openrebench.core.catalog import load_environment
from openrebench.core.reading import anchors_of
from openrebench.core.scoring import score_submission
from openrebench.isolation.local import LocalRunner

RUNS = 5


def main() -> None:
    name, profile = (*sys.argv[1:], *("prefix_sum", "small")[len(sys.argv) - 1 :])[:2]
    environment = load_environment(name)
    card = environment.card
    anchors = anchors_of(card, profile)
    scale, spread = anchors.scale(card), anchors.spread(card)
    targets = {
        "start": (card.folder / "agent", 0.0),
        "reference": (card.folder / "hidden" / "reference", 1.0),
    }
    busy = subprocess.Popen([sys.executable, "-c", "while True: pass"])
    found: dict[str, list[float]] = {}
    try:
        with LocalRunner() as runner:
            for solution, (folder, _) in targets.items():
                results = [
                    score_submission(environment, folder, profile, runner) for _ in range(RUNS)
                ]
                assert all(result.raw is not None for result in results), results
                found[solution] = [round(scale.normalize(r.raw or 0.0), 4) for r in results]
    finally:
        busy.kill()
        busy.wait()
    inside = all(abs(v - targets[s][1]) <= spread for s, values in found.items() for v in values)
    print(json.dumps({**found, "spread": round(spread, 4), "all_inside": inside}, indent=1))
    sys.exit(0 if inside else 1)


if __name__ == "__main__":
    main()
