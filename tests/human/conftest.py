"""What the tests of people share: a driver that sits at a terminal, and environments for them."""

import json
import os
import re
import shutil
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pexpect
import pytest

from openrebench.core.catalog import PATH_VARIABLE, find_card
from openrebench.isolation import device

TESTED = Path(__file__).parents[1] / "environments"  # has guess_number
RE_BENCH = str(Path(sys.executable).with_name("re-bench"))
PATIENCE_S = 120
PROMPT = r"left\S* \S*/workspace\S* \$ "


# With a permit of its own for timed scores: what scores are is not tested, and nobody waits.
RE_BENCH_ALONE = """
import sys
from pathlib import Path
from openrebench.isolation import device
device.LOCK_FOLDER = Path(sys.argv.pop(1))
from openrebench.cli import main
main()
"""


class Driver:
    """A person at a terminal of 30 rows and 100 columns, who calls `re-bench human`.

    Args:
        arguments: Of the command.
        environments: Folder where it finds further environments.
        permit: Folder of the permit for timed scores.
    """

    def __init__(self, arguments: tuple[str, ...], environments: Path, permit: Path) -> None:
        self.typed = 0
        self.process = pexpect.spawn(
            sys.executable,
            ["-c", RE_BENCH_ALONE, str(permit), "human", *arguments],
            encoding="utf-8",
            codec_errors="replace",
            timeout=PATIENCE_S,
            dimensions=(30, 100),
            env={**os.environ, PATH_VARIABLE: str(environments), "TERM": "xterm-256color"},
        )

    def sit_down(self) -> None:
        """Press Enter when asked to, and wait for the shell."""
        self.process.expect("press Enter")
        self.process.send("\r")
        self.process.expect(PROMPT)  # keys typed earlier would be thrown away

    def type(self, line: str) -> str:
        """Type a command; gives what it printed, and the prompt's echo of it."""
        self.typed += 1
        self.process.sendline(f"{line}; echo do''ne-{self.typed}")
        self.process.expect(f"done-{self.typed}\r\n")
        said = str(self.process.before)
        self.process.expect(PROMPT)
        return said

    def see(self, pattern: str) -> str:
        """Wait for a text."""
        self.process.expect(pattern)
        return str(self.process.before) + str(self.process.after)

    def end(self) -> str:
        """Wait for the program's end; gives its last words."""
        self.process.expect(pexpect.EOF)
        self.process.close()
        return str(self.process.before)


Play = Callable[..., Driver]


@pytest.fixture
def reduced_sum(tmp_path: Path) -> Path:
    """A folder with `reduced_sum`: prefix_sum with a million elements, for other processes."""
    folder = tmp_path / "environments" / "reduced_sum"
    source = find_card("prefix_sum").folder
    ignored = shutil.ignore_patterns("anchors", "tests", "__pycache__")
    shutil.copytree(source, folder, ignore=ignored)
    text = (folder / "card.toml").read_text()
    for pattern, new in (
        (r"^id = .*", 'id = "reduced_sum"'),
        (r"^aliases = .*", "aliases = []"),
        (
            r"n = 10_000_000, warm_calls = 2, timed_calls = 7",
            "n = 1_000_000, warm_calls = 2, timed_calls = 5",
        ),
    ):
        text, found = re.subn(pattern, new, text, count=1, flags=re.M)
        assert found == 1
    (folder / "card.toml").write_text(text)
    return folder.parent


@pytest.fixture
def play(tmp_path: Path) -> Iterator[Play]:
    """Let a driver call `re-bench human`; what it starts is ended with the test."""
    drivers: list[Driver] = []

    def run(*arguments: str, environments: Path = TESTED) -> Driver:
        drivers.append(Driver(arguments, environments, tmp_path))
        return drivers[-1]

    yield run
    for driver in drivers:
        driver.process.close(force=True)


@pytest.fixture
def attempts(tmp_path: Path) -> Path:
    return tmp_path / "attempts"


@pytest.fixture(autouse=True)
def here(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Score without waiting for other processes."""
    monkeypatch.setattr(device, "LOCK_FOLDER", tmp_path)


def only(root: Path) -> Path:
    """Give the one attempt below a folder."""
    (record,) = root.glob("*/attempt.json")
    return record.parent


def events(folder: Path) -> list[dict[str, object]]:
    """Read the clock's entries."""
    return [json.loads(line) for line in (folder / "clock.jsonl").read_text().splitlines()]
