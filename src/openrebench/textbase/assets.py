"""What ships with the package or is made on this machine: found, checked, kept.

Files that ship are compared with `SHA256SUMS` the first time a process reads them. Files that are
downloaded or made go to `$OPENREBENCH_HOME/assets`, which only its owner can read: some of them
are what an attempt must not see.
"""

import hashlib
from functools import cache
from pathlib import Path

from openrebench.core.anchors import home
from openrebench.errors import ReBenchError
from openrebench.textbase.tokens import Tokens, load_tokens

HERE = Path(__file__).parent
SUMS = HERE / "SHA256SUMS"
SHIPPED = ("data/*.xz", "data/*.json", "data/*.safetensors", "hidden/*.xz", "hidden/*.safetensors")
HIDDEN_SPLITS = ("score", "final")


def split(name: str) -> Tokens:
    """Read a split of the shipped text: `base`, `dev`, `score` or `final`.

    Raises:
        ReBenchError: The file is missing or damaged.
    """
    folder = "hidden" if name in HIDDEN_SPLITS else "data"
    return load_tokens(shipped(f"{folder}/{name}.xz"))


@cache
def shipped(name: str) -> Path:
    """Give the path of a shipped file, after checking its content.

    Raises:
        ReBenchError: The file is missing or damaged.
    """
    path = HERE / name
    if not path.is_file():
        raise ReBenchError(f"{path} is missing; install openrebench again")
    if digest(path) != sums().get(name):
        raise ReBenchError(f"{path} is damaged (its SHA-256 differs); install openrebench again")
    return path


def sums() -> dict[str, str]:
    """Read the checksums of all shipped files, by name."""
    rows = (line.split("  ", 1) for line in SUMS.read_text(encoding="utf-8").splitlines())
    return {name: found for found, name in rows}


def write_sums() -> None:
    """Note the checksums of all files as they are now; for those who rebuild them."""
    paths = sorted(path for pattern in SHIPPED for path in HERE.glob(pattern))
    rows = (f"{digest(path)}  {path.relative_to(HERE).as_posix()}\n" for path in paths)
    SUMS.write_text("".join(rows), encoding="utf-8")


def problems() -> list[str]:
    """List what is wrong with the shipped files; empty if all fits."""
    found = []
    for name in sums():
        try:
            shipped(name)
        except ReBenchError as error:
            found.append(str(error))
    return found


def cache_folder() -> Path:
    """Give the folder for what is downloaded or made here, readable by its owner only."""
    folder = home() / "assets"
    folder.mkdir(parents=True, exist_ok=True)
    folder.chmod(0o700)
    return folder


def digest(path: Path) -> str:
    """Give a file's SHA-256 in hex."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
