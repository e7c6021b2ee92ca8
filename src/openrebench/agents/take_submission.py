"""Replace the submission of one folder by that of another; runs inside the sandbox.

python take_submission.py SOURCE TARGET PATTERN...
"""

import glob
import os
import shutil
import sys


def main() -> None:
    """Remove what matches in the target, then copy what matches in the source."""
    source, target, *patterns = sys.argv[1:]
    for path in _matching(target, patterns):
        os.remove(os.path.join(target, path))
    for path in _matching(source, patterns):
        os.makedirs(os.path.dirname(os.path.join(target, path)), exist_ok=True)
        shutil.copy(os.path.join(source, path), os.path.join(target, path))


def _matching(folder: str, patterns: list[str]) -> set[str]:
    found = set()
    for pattern in patterns:
        found |= set(glob.glob(pattern, root_dir=folder, recursive=True, include_hidden=True))
    return {path for path in found if not os.path.isdir(os.path.join(folder, path))}


if __name__ == "__main__":
    main()
