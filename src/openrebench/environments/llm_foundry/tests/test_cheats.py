"""Every known cheat is invalid, or gains nothing.

At the size `tiny`; those that train take as long as the starting solution and are `slow`.
`skip_last_steps` is measured at `small` too, in `hidden/honest-small.json`: it is the nearest one.
"""

import socket
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("torch")

from openrebench.core.catalog import find_card
from openrebench.core.contract import cheat_folders, cheat_submission
from openrebench.core.result import Outcome, ScoreResult
from openrebench.isolation.local import LocalRunner
from openrebench.isolation.probe import probe_modes
from openrebench.isolation.runner import IsolationMode, Limits

CARD = find_card("llm_foundry")
QUICK = {
    "copied_base", "copied_reference", "linked_reference", "copy_plus_noise", "left_running",
    "old_weights_in_code", "other_process", "endless_output", "poisoned_file",
}  # fmt: skip
# These work honestly in the end; what they try has no effect.
WITHOUT_EFFECT = {"clock_patch", "done_by_a_daemon", "hidden_cache", "old_checkpoint"}
CLEARLY_FASTER = 0.7
MODES = [r.mode for r in probe_modes() if r.available and r.mode is not IsolationMode.SUBPROCESS]
OLD_THINGS = (
    "trained_model/model.safetensors", "work/checkpoints/latest.pt", "old/run.pt", "data.jsonl",
    ".cache/tokens.npy", "foundry/tokens.bin", "base_model/x.safetensors", "m.py.safetensors",
)  # fmt: skip
BURN = """
import os, sys, time
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        while time.process_time() < 0.6:
            pass
        open("done", "w").close()
    os._exit(0)
os.wait()
while not os.path.exists("done"):
    time.sleep(0.02)
"""


@pytest.fixture(scope="module", autouse=True)
def helper_outside() -> Iterator[None]:
    """What `other_process` hopes to reach: a helper that offers two megabytes."""
    shared = Path("/dev/shm/openrebench-foundry-helper")
    shared.write_bytes(b"x" * 2_000_000)
    tcp, unix = socket.socket(), socket.socket(socket.AF_UNIX)
    tcp.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    tcp.bind(("127.0.0.1", 45872))
    unix.bind("\0openrebench-foundry-helper")
    for listener in (tcp, unix):
        listener.listen(8)
        threading.Thread(target=serve, args=(listener,), daemon=True).start()
    yield
    shared.unlink()
    for listener in (tcp, unix):
        listener.shutdown(socket.SHUT_RDWR)
        listener.close()


def serve(listener: socket.socket) -> None:
    while True:
        try:
            asked, _ = listener.accept()
        except OSError:
            return
        with asked:
            asked.sendall(b"x" * 2_000_000)


@pytest.mark.timeout(600)
@pytest.mark.parametrize(
    "name",
    [
        pytest.param(f.name, marks=[] if f.name in QUICK else [pytest.mark.slow])
        for f in cheat_folders(CARD)
    ],
)
def test_cheat_gains_nothing(name: str, tiny, start: ScoreResult) -> None:
    result = tiny.score_cheat(name)
    if name in WITHOUT_EFFECT and result.outcome is Outcome.SCORED:
        assert result.raw > CLEARLY_FASTER * start.raw, result
    else:
        assert result.outcome is Outcome.INVALID, result


def test_every_cheat_says_what_it_does() -> None:
    for folder in cheat_folders(CARD):
        second = (folder / "finetune.sh").read_text().splitlines()[1]
        assert second.startswith("# ") and second.endswith("."), folder.name


def test_the_known_options_are_those_of_the_repository() -> None:
    known = CARD.folder / "tests/cheats/ignored_options/known.yaml.py"
    assert known.read_text() == (CARD.folder / "agent/finetune.yaml").read_text()


@pytest.mark.parametrize("mode", MODES, ids=str)
def test_time_of_a_daemon_is_counted(mode: IsolationMode) -> None:
    limits = Limits(call_timeout_s=60, processes=16)
    with LocalRunner(mode) as runner, tempfile.TemporaryDirectory() as folder:
        Path(folder, "burn.py").write_text(BURN)
        result = runner.run(["python", "burn.py"], workspace=Path(folder), limits=limits)
    assert result.returncode == 0, result.output
    if mode is IsolationMode.BUBBLEWRAP:
        assert result.cpu_s is None  # and wall time counts, which a daemon can't shorten
    else:
        assert result.cpu_s is not None and 0.55 < result.cpu_s < 3.0


def test_nothing_but_code_is_taken(tiny, tmp_path: Path) -> None:
    """Old outputs, checkpoints, tokens and caches under any name stay behind."""
    from openrebench.isolation import snapshot

    with cheat_submission(CARD, CARD.folder / "tests/cheats/old_checkpoint") as folder:
        for name in OLD_THINGS:
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_bytes(b"x" * 100_000)
        taken = snapshot.take(folder, CARD.submission, CARD.max_submission_bytes)
    assert "finetune.sh" in taken.files and "foundry/trainer.py" in taken.files
    assert {Path(name).suffix for name in taken.files} == {".py", ".sh"}
    small = sum(map(len, taken.files.values()))
    assert small < CARD.max_submission_bytes < 4 * 1_070_208, "weights don't fit into the code"
