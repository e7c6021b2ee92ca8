"""Every known cheat is invalid or gains nothing, in every isolation mode that works here.

At a tenth of the size, against honest times of the same session: a cheat may not be clearly
faster than the starting solution that it falls back on.
"""

import socket
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from openrebench.core.catalog import find_card
from openrebench.core.contract import cheat_folders, cheat_submission
from openrebench.core.environment import Environment
from openrebench.core.result import Outcome
from openrebench.core.scoring import score_submission
from openrebench.errors import Reason
from openrebench.isolation.local import LocalRunner
from openrebench.isolation.probe import probe_modes
from openrebench.isolation.runner import IsolationMode

CARD = find_card("prefix_sum")
# Not `subprocess`: it has no wall, says so, and here as root its cheats would act on this machine.
MODES = [r.mode for r in probe_modes() if r.available and r.mode is not IsolationMode.SUBPROCESS]
START = CARD.folder / "agent"
CLEARLY_FASTER = 0.7
TRIES = 6
MUST_BE_INVALID = {
    "equal_patch", "stack_walk", "late_thread", "late_shared_output", "lazy_tensor",
    "cache_by_length", "forge_done", "race_reply", "kill_scorer", "exit_zero",
    "truncate_buffers", "write_input", "fork_bomb", "memory_bomb", "output_flood", "partial",
    "stale_output", "uninitialised_memory", "one_length_only", "small_values_only",
    "raise_on_purpose", "wrong_dtype", "wrong_shape", "fd_scavenge",
}  # fmt: skip


@cache
def runner_for(mode: IsolationMode) -> LocalRunner:
    return LocalRunner(mode)


@pytest.fixture(scope="module", autouse=True)
def close_runners() -> Iterator[None]:
    yield
    for mode in MODES:
        runner_for(mode).close()


@pytest.fixture(scope="module", autouse=True)
def helper_outside() -> Iterator[None]:
    """What the net_helper cheat hopes to reach."""
    shared = Path("/dev/shm/openrebench-test-helper")
    tcp, unix = socket.socket(), socket.socket(socket.AF_UNIX)
    tcp.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    tcp.bind(("127.0.0.1", 45871))
    unix.bind("\0openrebench-test-helper")
    for listener in (tcp, unix):
        listener.listen(8)
    shared.touch()
    yield
    shared.unlink()
    tcp.close()
    unix.close()


@pytest.fixture(scope="module")
def honest_ms(reduced: Environment) -> dict[IsolationMode, float]:
    """The best time of the starting solution so far, in each mode."""
    return {mode: best_ms(reduced, START, mode, of=3) for mode in MODES}


def best_ms(reduced: Environment, folder: Path, mode: IsolationMode, *, of: int) -> float:
    """Give the best of some scores."""
    results = [score_submission(reduced, folder, "small", runner_for(mode)) for _ in range(of)]
    times = [result.raw for result in results if result.raw is not None]
    assert len(times) == of, results
    return min(times)


def gains(
    raw: float, mode: IsolationMode, reduced: Environment, honest_ms: dict[IsolationMode, float]
) -> bool:
    """Tell whether a time is clearly below the start's best, for which there are more tries then.

    The machine may just have become quicker; then the start shows it too.
    """
    for _ in range(TRIES):
        if raw > CLEARLY_FASTER * honest_ms[mode]:
            return False
        honest_ms[mode] = min(honest_ms[mode], best_ms(reduced, START, mode, of=1))
    return raw <= CLEARLY_FASTER * honest_ms[mode]


@pytest.mark.parametrize("mode", MODES, ids=str)
@pytest.mark.parametrize("cheat", cheat_folders(CARD), ids=lambda folder: folder.name)
def test_cheat_gains_nothing(
    cheat: Path, mode: IsolationMode, reduced: Environment, honest_ms: dict[IsolationMode, float]
) -> None:
    with cheat_submission(CARD, cheat) as folder:
        result = score_submission(reduced, folder, "small", runner_for(mode))
    assert result.outcome is not Outcome.ERROR, result
    if cheat.name in MUST_BE_INVALID:
        assert result.outcome is Outcome.INVALID, result
    assert result.raw is None or not gains(result.raw, mode, reduced, honest_ms), result


def test_a_gain_would_be_seen(reduced: Environment, honest_ms: dict[IsolationMode, float]) -> None:
    mode, reference = MODES[0], CARD.folder / "hidden" / "reference"
    assert gains(best_ms(reduced, reference, mode, of=3), mode, reduced, honest_ms)


def test_every_cheat_says_what_it_does() -> None:
    for folder in cheat_folders(CARD):
        assert (folder / "solution.py").read_text().startswith('"""'), folder.name


@pytest.mark.parametrize(
    ("files", "reason", "says"),
    [
        ({}, Reason.MISSING_FILE, "solution.py"),
        ({"other.py": ""}, Reason.MISSING_FILE, "solution.py"),
        ({"solution.py": "def prefix_sum(x)\n"}, Reason.IMPORT_FAILED, "SyntaxError"),
        ({"solution.py": "import nothing_like_it\n"}, Reason.IMPORT_FAILED, "nothing_like_it"),
        ({"solution.py": "x = 1\n"}, Reason.IMPORT_FAILED, "prefix_sum"),
        ({"solution.py": "import time\ntime.sleep(99)\n"}, Reason.TIMED_OUT, "5"),
        (
            {"solution.py": "import time\ndef prefix_sum(x):\n    time.sleep(99)\n"},
            Reason.TIMED_OUT,
            "3",
        ),
        ({"solution.py": "import os\nos.abort()\n"}, Reason.CRASHED, ""),
        (
            {"solution.py": "def prefix_sum(x):\n    raise KeyError('k')\n"},
            Reason.CRASHED,
            "KeyError",
        ),
        ({"solution.py": "def prefix_sum(x):\n    return x[:0]\n"}, Reason.WRONG_SHAPE, "shape"),
        (
            {"solution.py": "def prefix_sum(x):\n    return x.long()\n"},
            Reason.WRONG_OUTPUT,
            "int64",
        ),
        ({"solution.py": "def prefix_sum(x):\n    return 7\n"}, Reason.WRONG_OUTPUT, "int"),
    ],
)
def test_a_bad_submission_gets_one_clear_sentence(
    tmp_path: Path, runner: LocalRunner, reduced: Environment, hurried, files, reason, says
) -> None:
    environment = hurried(reduced, "small") if reason is Reason.TIMED_OUT else reduced
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    result = score_submission(environment, tmp_path, "small", runner)
    assert (result.outcome, result.reason) == (Outcome.INVALID, reason), result
    assert says in result.message and "\n" not in result.message and len(result.message) < 400
