"""Score a folder from Python, as the command line does.

python examples/score_a_submission.py prefix_sum FOLDER
"""

import sys
from pathlib import Path

from openrebench.core.catalog import load_environment
from openrebench.core.reading import normalised
from openrebench.core.scoring import score_submission
from openrebench.isolation.local import LocalRunner


def main(name: str, folder: str) -> None:
    """Score once and print the outcome."""
    environment = load_environment(name)
    with LocalRunner() as runner:
        result = score_submission(environment, Path(folder), "small", runner)
    value, why_not = normalised(environment.card, "small", result.raw)
    print(result.outcome, result.message)
    print("normalised:", value if value is not None else why_not)


if __name__ == "__main__":
    main(*sys.argv[1:3])
