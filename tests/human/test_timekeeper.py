"""Warnings before the end, the end itself, and a disk that fills."""

import threading
from pathlib import Path

import pytest

from openrebench.core.attempt import Ended
from openrebench.harness.disk import DiskWatch
from openrebench.human import timekeeper
from openrebench.human.timekeeper import Timekeeper


class FastClock:
    """An hour that passes in steps of a minute, one each time somebody looks."""

    def __init__(self, left_s: float, step_s: float) -> None:
        self.running, self.beats = True, 0
        self._left_s, self._step_s = left_s, step_s

    def left_s(self) -> float:
        self._left_s = max(0.0, self._left_s - self._step_s)
        return self._left_s

    def beat(self) -> None:
        self.beats += 1
        raise OSError("no space left on device")  # must not end the thread


class Heard:
    """Notes what a sitting is told."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.ended: list[Ended] = []
        self.over = threading.Event()

    def tell(self, text: str) -> None:
        self.lines.append(text)

    def show_left(self) -> None:
        pass

    def finish(self, ended: Ended) -> None:
        self.ended.append(ended)
        self.over.set()


def keep(clock: FastClock, disk: DiskWatch, monkeypatch: pytest.MonkeyPatch) -> Heard:
    monkeypatch.setattr(timekeeper, "TICK_S", 0.005)
    monkeypatch.setattr(timekeeper, "BEAT_S", 0.01)
    heard = Heard()
    keeper = Timekeeper(clock, heard, disk)  # type: ignore[arg-type]
    keeper.start()
    assert heard.over.wait(30)
    keeper.stop()
    return heard


def test_warnings_come_once_each_and_then_the_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = FastClock(3600, 30)
    heard = keep(clock, DiskWatch(tmp_path, 1 << 40), monkeypatch)
    assert [line.partition(" of ")[0] for line in heard.lines] == ["30m", "10m", "1m"]
    assert "score now what shall count" in heard.lines[-1]
    assert heard.ended == ["budget"] and clock.beats > 0


def test_a_short_budget_has_no_warning_of_a_longer_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    heard = keep(FastClock(120, 5), DiskWatch(tmp_path, 1 << 40), monkeypatch)
    assert [line.partition(" of ")[0] for line in heard.lines] == ["1m"]


def test_a_workspace_over_its_limit_ends_the_attempt(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "log").write_bytes(bytes(1 << 20))
    heard = keep(FastClock(1e9, 0), DiskWatch(tmp_path, 1 << 16), monkeypatch)
    assert heard.ended == ["budget"] and "the workspace holds" in heard.lines[-1]
