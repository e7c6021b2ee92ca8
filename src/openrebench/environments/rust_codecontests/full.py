"""CodeContests as it was published: from local files, or from the Hugging Face hub.

Test problems are those with a Codeforces rating from 1 to 1500, or of difficulty 1 where there is
no rating: 165 of them, as in the published task. Dev problems are the same of the validation split.
A local copy is a folder with `test.jsonl` and `valid.jsonl`, one problem a line, with the columns
of `deepmind/code_contests` (tests as `{"input": [...], "output": [...]}`), named in the variable
`OPENREBENCH_CODECONTESTS`.
"""

import json
import os
from collections.abc import Iterable, Mapping
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from openrebench.environments.rust_codecontests.problems import Problem, digest_of, from_columns
from openrebench.errors import ReBenchError

FOLDER_VARIABLE = "OPENREBENCH_CODECONTESTS"
DATASET = "deepmind/code_contests"
FILES = {"dev": "valid", "score": "test", "final": "test"}
TESTS = ("public_tests", "private_tests", "generated_tests")
HIGHEST_RATING = 1500
EXPECTED_PROBLEMS = 165


def unavailable() -> str | None:
    """Say in one sentence what is missing to load the problems, or give None."""
    folder = os.environ.get(FOLDER_VARIABLE)
    if folder:
        missing = [n for n in sorted(set(FILES.values())) if not _file(folder, n).is_file()]
        return f"{FOLDER_VARIABLE}={folder} has no {missing[0]}.jsonl" if missing else None
    if _cached_offline():
        return None
    return (
        f"needs CodeContests: name a folder with test.jsonl and valid.jsonl in {FOLDER_VARIABLE}, "
        f"or allow the hub's copy with {FOLDER_VARIABLE}_HUB=1 and pip install openrebench[full]"
    )


@cache
def load(split: str) -> tuple[Problem, ...]:
    """Load the easier problems of a split; `final` is the published test split too.

    Raises:
        ReBenchError: They are not where they should be, or a row is not of the format.
    """
    name = FILES[split]
    folder = os.environ.get(FOLDER_VARIABLE)
    rows = _from_file(_file(folder, name)) if folder else _from_hub(name)
    return tuple(_problem(row, number) for number, row in enumerate(filter(is_easy, rows), 1))


def is_easy(row: Mapping[str, Any]) -> bool:
    """Tell whether a problem belongs to the published selection.

    Example:
        >>> [is_easy({"cf_rating": r, "difficulty": d}) for r, d in ((800, 7), (1600, 7), (0, 1))]
        [True, False, True]
    """
    return 0 < row.get("cf_rating", 0) <= HIGHEST_RATING or row.get("difficulty") == 1


def _problem(row: Mapping[str, Any], number: int) -> Problem:
    try:
        public, *others = (from_columns(row.get(kind)) for kind in TESTS)
        tests = (*public, *(test for group in others for test in group))
        return Problem(
            key=str(row["name"]),
            name=f"problem {number:03d}",
            description=str(row["description"]),
            public=public,
            hidden=lambda: tests[len(public) :],
            digest=digest_of(tests),
        )
    except (KeyError, TypeError) as error:
        raise ReBenchError(f"CodeContests, problem {number}: lacks or garbles {error}") from error


def _from_file(path: Path) -> Iterable[Mapping[str, Any]]:
    try:
        with path.open(encoding="utf-8") as file:
            return [json.loads(line) for line in file if line.strip()]
    except (OSError, ValueError) as error:
        raise ReBenchError(f"{path}: is not one JSON object a line ({error})") from error


def _from_hub(name: str) -> Iterable[Mapping[str, Any]]:
    from datasets import load_dataset

    try:
        rows: Iterable[Mapping[str, Any]] = load_dataset(DATASET, split=name)
    except Exception as error:
        raise ReBenchError(f"{DATASET} can't be loaded: {error}") from error
    return rows


def _file(folder: str, name: str) -> Path:
    return Path(folder) / f"{name}.jsonl"


def _cached_offline() -> bool:
    return bool(os.environ.get(f"{FOLDER_VARIABLE}_HUB")) and find_spec("datasets") is not None
