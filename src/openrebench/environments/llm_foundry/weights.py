"""Weights in a folder: one safetensors file, or several with an index, as Hugging Face writes them.

What a submission wrote is opened without following links, and only as regular files; its tensors
are read one at a time.
"""

import json
import os
import stat
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from openrebench.environments.llm_foundry.material import WEIGHTS
from openrebench.environments.llm_foundry.runs import OUTPUT
from openrebench.errors import InvalidSubmission, Reason

if TYPE_CHECKING:
    from torch import Tensor

INDEX = f"{WEIGHTS}.index.json"
INDEX_BYTES = 1 << 22
MOST_FILES = 64
SLACK_BYTES = 1 << 20  # for other headers than ours


class Weights:
    """Tensors by name, read when asked for.

    Args:
        files: Open files, each with some of the tensors.
    """

    def __init__(self, files: list[Any]) -> None:
        self._files = {name: file for file in files for name in file.keys()}

    def __iter__(self) -> Iterator[str]:
        return iter(sorted(self._files))

    def tensor(self, name: str) -> "Tensor":
        """Read a tensor."""
        found: Tensor = self._files[name].get_tensor(name)
        return found


@contextmanager
def own(folder: Path) -> Iterator[Weights]:
    """Open weights of this side."""
    with ExitStack() as stack:
        yield Weights([stack.enter_context(_parsed(path)) for path in _own_files(folder)])


@contextmanager
def submitted(folder: Path, truth: Path) -> Iterator[Weights]:
    """Open weights that a submission wrote; in all about as large as the truth's.

    Raises:
        InvalidSubmission: A file is missing, no regular file, no safetensors, or too large.
    """
    from safetensors import SafetensorError

    with ExitStack() as stack:
        files = [stack.enter_context(regular(folder / name)) for name in _names(folder)]
        found = sum(os.fstat(file).st_size for file in files)
        expected = sum(path.stat().st_size for path in _own_files(truth))
        if abs(found - expected) > SLACK_BYTES:
            raise InvalidSubmission(
                Reason.WRONG_OUTPUT,
                f"the weights in {OUTPUT} take {found} bytes; expected about {expected}",
            )
        try:
            paths = [Path(f"/proc/self/fd/{file}") for file in files]
            yield Weights([stack.enter_context(_parsed(path)) for path in paths])
        except SafetensorError as error:
            raise InvalidSubmission(
                Reason.WRONG_OUTPUT, f"the weights in {OUTPUT} are not safetensors"
            ) from error


def read(path: Path, limit: int) -> bytes:
    """Read a file that a submission wrote.

    Raises:
        InvalidSubmission: It is missing, no regular file, or larger than the limit.
    """
    with regular(path) as file:
        size = os.fstat(file).st_size
        if size > limit:
            raise InvalidSubmission(
                Reason.WRONG_OUTPUT, f"{OUTPUT}/{path.name} has {size} bytes; allowed are {limit}"
            )
        return os.read(file, size)


@contextmanager
def regular(path: Path) -> Iterator[int]:
    """Open a regular file of a submission's output folder, following no link.

    Raises:
        InvalidSubmission: It is missing, or something else.
    """
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    sentence = f"{OUTPUT}/{path.name} is missing, or is no regular file"
    with ExitStack() as stack:
        try:
            folder = os.open(path.parent, flags | os.O_DIRECTORY)
            stack.callback(os.close, folder)
            file = os.open(path.name, flags, dir_fd=folder)
            stack.callback(os.close, file)
        except OSError as error:
            raise InvalidSubmission(Reason.MISSING_FILE, sentence) from error
        if not stat.S_ISREG(os.fstat(file).st_mode):
            raise InvalidSubmission(Reason.MISSING_FILE, sentence)
        yield file


def _names(folder: Path) -> list[str]:
    """Name the weight files of a submission's output: one, or those of its index."""
    if not os.path.lexists(folder / INDEX):
        return [WEIGHTS]
    try:
        index = json.loads(read(folder / INDEX, INDEX_BYTES))["weight_map"]
        names = sorted({Path(str(name)).name for name in index.values()})
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        raise InvalidSubmission(
            Reason.WRONG_OUTPUT, f"{OUTPUT}/{INDEX} is not an index of weights"
        ) from error
    if len(names) > MOST_FILES:
        raise InvalidSubmission(Reason.WRONG_OUTPUT, f"{OUTPUT} has more than {MOST_FILES} files")
    return names


def _own_files(folder: Path) -> list[Path]:
    if not (folder / INDEX).is_file():
        return [folder / WEIGHTS]
    index = json.loads((folder / INDEX).read_text(encoding="utf-8"))
    return [folder / name for name in sorted(set(index["weight_map"].values()))]


def _parsed(path: Path) -> Any:  # noqa: ANN401 - untyped
    from safetensors import safe_open

    return safe_open(str(path), framework="pt")
