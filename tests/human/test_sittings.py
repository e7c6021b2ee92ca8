"""What happens at the edges of a sitting: crashes, lost terminals, ended shells and sandboxes."""

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest

from openrebench.core.attempt import read_attempt
from openrebench.core.catalog import load_environment
from openrebench.core.score_log import verify
from openrebench.core.verifying import verify_attempt
from openrebench.errors import AttemptError
from openrebench.human.session import open_service
from openrebench.isolation.layout import NAMESPACE_MODES
from openrebench.watch import row_of

from .conftest import TESTED, Driver, Play, events, only

STRAY = "sleep 86311"
BACKGROUND = f"{{ {STRAY} > /dev/null 2>&1 & }}"


@pytest.fixture
def sit(play: Play, attempts: Path) -> Callable[..., Driver]:
    """Seat a driver at an attempt whose scores take no time."""

    def run(time_limit: str = "10m", *options: str) -> Driver:
        arguments = ("guess_number", "--time-limit", time_limit, "-o", str(attempts), *options)
        person = play("start", *arguments)
        person.sit_down()
        return person

    return run


Sit = Callable[..., Driver]


@pytest.fixture(scope="module")
def seated(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Driver, Path]]:
    """A person whose sitting several tests share, and the attempt's folder."""
    root = tmp_path_factory.mktemp("seated")
    person = Driver(("start", "guess_number", "-o", str(root)), TESTED, root)
    person.sit_down()
    yield person, only(root)
    person.process.close(force=True)


def assert_soon(holds: Callable[[], bool]) -> None:
    for _ in range(200):
        if holds():
            return
        time.sleep(0.05)
    raise AssertionError("it did not come true within 10 s")


def running(command: str) -> bool:
    listed = subprocess.run(["ps", "ax", "-o", "args"], capture_output=True, text=True)
    return command in listed.stdout


def test_a_killed_runner_loses_nothing_and_gains_nothing(
    sit: Sit, play: Play, attempts: Path
) -> None:
    person = sit()
    person.type("echo 'NUMBER = 40' > solution.py")
    person.type("score")
    person.type(BACKGROUND)
    assert running(STRAY)
    os.kill(person.process.pid, signal.SIGKILL)
    person.end()
    folder = only(attempts)
    assert_soon(lambda: not running(STRAY))
    assert row_of(folder)["state"] == "dead"
    last_beat_s = json.loads((folder / "accounts.json").read_text())["working_s"]
    again = play("resume", str(folder))
    again.sit_down()
    assert "#1 at" in again.type("log") and "40" in again.type("cat solution.py")
    again.process.sendline("submit")
    again.see("type yes")
    again.process.sendline("yes")
    ended = again.end()
    assert "ended (submitted): 2.0 points" in ended
    assert "note: guess_number@1.0.0/small has no anchors for" in " ".join(ended.split())
    _, recovered, started, _ = events(folder)
    assert recovered["event"] == "recovered" and started["used_s"] == recovered["used_s"]
    assert recovered["used_s"] == pytest.approx(last_beat_s + 1, abs=0.01)
    attempt = read_attempt(folder)
    assert verify(attempt.entries) == [] and attempt.record.resumed[0].was == "crashed"


@pytest.mark.slow
def test_a_lost_terminal_pauses_until_the_person_is_back(
    sit: Sit, play: Play, attempts: Path
) -> None:
    person = sit()
    person.process.close(force=False)  # hangs up
    folder = only(attempts)
    assert_soon(lambda: row_of(folder)["state"] == "left")
    paused = events(folder)[-1]
    assert paused["event"] == "paused" and read_attempt(folder).record.ended == "interrupted"
    again = play("resume", str(folder))
    again.sit_down()
    assert events(folder)[-1]["used_s"] == paused["used_s"]
    again.type("score")
    again.process.sendline("submit --yes")
    again.end()
    assert read_attempt(folder).record.ended == "submitted"
    assert "has ended (submitted)" in play("resume", str(folder)).end()


def test_a_person_may_leave_a_pause(sit: Sit, attempts: Path) -> None:
    person = sit()
    person.type(BACKGROUND)
    person.process.sendline("pause night")
    person.see("Enter goes on")
    assert running(STRAY)
    person.process.send("q")
    assert "human resume" in person.end()
    assert not running(STRAY)
    assert [row["event"] for row in events(only(attempts))] == ["started", "paused"]


@pytest.mark.slow
def test_time_ends_an_attempt_whose_terminal_is_not_read(sit: Sit, attempts: Path) -> None:
    person = sit("2s")
    person.process.sendline("yes")  # far more than a terminal holds
    folder = only(attempts)
    assert_soon(lambda: read_attempt(folder).record.ended == "budget")
    person.end()
    assert read_attempt(folder).record.usage.working_s < 6


def test_a_shell_that_ends_is_followed_by_another(seated: tuple[Driver, Path]) -> None:
    person, _ = seated
    person.type(f"{{ nohup {STRAY} > /dev/null 2>&1 & }}")
    person.process.sendline("exit")
    assert STRAY in person.type("pgrep -af sleep")
    person.process.sendline("kill -9 -1")
    assert STRAY not in person.type("pgrep -af sleep")


def test_the_shell_is_a_real_terminal(seated: tuple[Driver, Path]) -> None:
    person, _ = seated
    assert "30 100" in person.type("stty size")
    person.process.setwinsize(41, 91)
    assert_soon(lambda: "41 91" in person.type("stty size"))
    assert "/dev/pts/" in person.type("tty") and "xterm-256color" in person.type("echo $TERM")
    person.process.sendline(STRAY)
    assert_soon(lambda: running(STRAY))
    person.process.sendcontrol("z")
    person.see("Stopped")
    assert "Stopped" in person.type("jobs")
    person.process.sendline("fg")
    person.see(f"{STRAY}\r\n")
    person.process.sendcontrol("c")
    assert "130" in person.type("echo $?")


def test_the_record_is_out_of_reach(seated: tuple[Driver, Path]) -> None:
    person, _ = seated
    named = "-name score_log.jsonl -o -name clock.jsonl -o -name hidden -o -name attempt.json"
    assert "found:0" in person.type(f"echo found:$(find / {named} 2> /dev/null | wc -l)")
    assert "Read-only file system" in person.type("rm /opt/re-bench/desk.sock")
    assert "Operation not permitted" in person.type(
        "python -c 'import ctypes; c = ctypes.CDLL(None, use_errno=True);"
        " c.setns(3, 0); import os; print(os.strerror(ctypes.get_errno()))'"
    )
    said = person.type("rm -rf /workspace/* && score")  # the commands are not of the workspace
    assert "invalid (missing_file)" in said


def test_wrong_words_get_a_sentence(seated: tuple[Driver, Path]) -> None:
    person, folder = seated
    assert "say why" in person.type("pause")
    assert "say what" in person.type("note")
    assert "noted" in person.type("note the loss $(printf '\\e[2J')falls")
    assert "2000 characters" in person.type("note $(printf %03000d 1)")
    (note,) = (folder / "notes.jsonl").read_text().splitlines()
    assert json.loads(note)["text"] == "the loss [2Jfalls"


# Spins in a thread whose process has lost its first one: `ps` calls such a process a zombie.
SPINNER = """
import ctypes, threading
def spin():
    n = 0
    while True:
        n += 1
        if n % 100_000 == 0:
            open('/workspace/spun', 'w').write(str(n))
threading.Thread(target=spin).start()
ctypes.CDLL(None).syscall(60 if __import__('platform').machine() == 'x86_64' else 93, 0)
"""


@pytest.mark.parametrize(
    "mode",
    [NAMESPACE_MODES[0], *(pytest.param(m, marks=pytest.mark.slow) for m in NAMESPACE_MODES[1:])],
)
def test_nothing_runs_during_a_pause(mode: str, sit: Sit, attempts: Path) -> None:
    person = sit("10m", "--isolation", mode)
    workspace = only(attempts) / "workspace"
    (workspace / "spin.py").write_text(SPINNER)
    person.type("{ setsid nohup python spin.py > /dev/null 2>&1 & }")
    assert_soon((workspace / "spun").exists)
    person.process.sendline("pause lunch")
    person.see("Enter goes on")
    before = (workspace / "spun").read_text()
    time.sleep(0.5)
    assert (workspace / "spun").read_text() == before
    person.process.send("\r")
    person.see("going on")
    assert_soon(lambda: (workspace / "spun").read_text() != before)


@pytest.mark.slow
def test_a_pause_of_a_gpu_profile_ends_what_runs(
    play: Play, attempts: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "environments"
    shutil.copytree(TESTED / "guess_number", folder / "guess_number")
    card = folder / "guess_number" / "card.toml"
    card.write_text(card.read_text().replace('device = "cpu"', 'device = "cuda"'))
    person = play("start", "guess", "-o", str(attempts), environments=folder)
    person.sit_down()
    person.type(BACKGROUND)
    assert "pause --end REASON" in person.type("pause lunch")
    person.process.sendline("pause --end lunch")
    person.see("Enter goes on")
    assert not running(STRAY)
    person.process.send("\r")
    person.see("going on")
    assert STRAY not in person.type("pgrep -af sleep")
    (paused,) = [row for row in events(only(attempts)) if row["event"] == "paused"]
    assert paused["reason"] == "lunch"


def test_one_runner_at_a_time(seated: tuple[Driver, Path]) -> None:
    _, folder = seated
    other = Driver(("resume", str(folder)), TESTED, folder.parent)
    assert "another process is writing this attempt" in other.end()


def test_a_service_whose_socket_is_blocked_says_so(tmp_path: Path) -> None:
    found = load_environment("scaling_law")
    (tmp_path / "runs.sock" / "full").mkdir(parents=True)
    attempt = SimpleNamespace(environment=found, folder=tmp_path, workspace=tmp_path)
    with pytest.raises(AttemptError, match="move away what has its name"):
        open_service(attempt, found.card.profile("small"))


def test_people_need_a_terminal(attempts: Path) -> None:
    command = [sys.executable, "-m", "openrebench", "human", "start", "guess", "-o", str(attempts)]
    done = subprocess.run(command, capture_output=True, text=True, stdin=subprocess.DEVNULL)
    assert done.returncode == 2 and "a person works in a terminal" in done.stderr
    assert not attempts.exists()


def test_people_need_no_inspect() -> None:
    code = (
        "import sys; import openrebench.human.seat, openrebench.watch_table;"
        "print('inspect_ai' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


@pytest.mark.slow
def test_random_kills_lose_no_score_that_was_told(sit: Sit, play: Play, attempts: Path) -> None:
    kills, told, rng = 8, 0, random.Random(5)
    person = sit()
    for _ in range(kills):
        for _ in range(rng.randrange(3)):
            told += "scored: " in person.type("score")
        person.process.sendline("score; score; score")
        time.sleep(rng.uniform(0, 0.5))
        os.kill(person.process.pid, signal.SIGKILL)
        told += person.end().count("scored: ")
        person = play("resume", str(only(attempts)))
        person.sit_down()
    person.process.sendline("submit --yes")
    person.end()
    attempt = read_attempt(only(attempts))
    assert told > kills
    assert 0 <= len(attempt.entries) - 1 - told <= 3 * kills
    assert verify_attempt(attempt) == []
    used = [row["used_s"] for row in events(attempt.folder)]
    assert used == sorted(used) and used[-1] <= attempt.record.usage.wall_s
    assert [note.was for note in attempt.record.resumed] == ["crashed"] * kills
    requested = [entry.requested_at_s for entry in attempt.entries]
    assert requested == sorted(requested)
