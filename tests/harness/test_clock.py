"""The clock of an attempt, and the pauses that don't count."""

import contextlib
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from openrebench.harness.clock import Standstill, WorkingClock
from openrebench.harness.disk import DiskWatch, folder_bytes


class Time:
    """A clock's source of seconds."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


class FakeBox:
    """A sandbox that notes whether it stands."""

    def __init__(self, can: bool = True) -> None:
        self.can, self.stands = can, False

    @contextlib.contextmanager
    def frozen(self) -> Iterator[bool]:
        self.stands = self.can
        yield self.can
        self.stands = False


@pytest.fixture
def time() -> Time:
    return Time()


def test_it_runs_between_go_and_stop(time: Time) -> None:
    clock = WorkingClock(60.0, 5.0, time)
    time.now += 10
    assert clock.used_s() == 5.0
    clock.go()
    clock.go()
    time.now += 10
    assert (clock.used_s(), clock.left_s) == (15.0, 45.0)
    clock.stop()
    clock.stop()
    time.now += 100
    assert clock.used_s() == 15.0
    assert WorkingClock(None).left_s is None and WorkingClock(1.0, 2.0).left_s == 0.0


def test_an_uncharged_hold_stops_box_and_clock(time: Time) -> None:
    box, clock = FakeBox(), WorkingClock(60.0, 0.0, time)
    clock.go()
    with Standstill(box, clock).hold(charged=False) as stands:
        time.now += 10
        assert stands and box.stands and clock.used_s() == 0.0
    time.now += 1
    assert not box.stands and clock.used_s() == 1.0


def test_a_charged_hold_stops_the_box_only(time: Time) -> None:
    box, clock = FakeBox(), WorkingClock(60.0, 0.0, time)
    clock.go()
    with Standstill(box, clock).hold(charged=True):
        time.now += 10
        assert box.stands and clock.used_s() == 10.0


def test_a_box_that_can_not_stand_costs_time(time: Time) -> None:
    clock = WorkingClock(60.0, 0.0, time)
    clock.go()
    with Standstill(FakeBox(can=False), clock).hold(charged=False) as stands:
        time.now += 10
    assert not stands and clock.used_s() == 10.0


def test_holds_overlap(time: Time) -> None:
    box, clock = FakeBox(), WorkingClock(60.0, 0.0, time)
    still = Standstill(box, clock)
    clock.go()
    first, second = still.hold(charged=False), still.hold(charged=True)
    first.__enter__()
    second.__enter__()
    time.now += 10
    first.__exit__(None, None, None)  # the second goes on, and is paid for
    time.now += 1
    assert box.stands and clock.used_s() == 1.0
    second.__exit__(None, None, None)
    assert not box.stands


def test_holds_of_many_threads_end_evenly() -> None:
    box, clock = FakeBox(), WorkingClock(60.0)
    still = Standstill(box, clock)

    def work() -> None:
        for _ in range(200):
            with still.hold(charged=False):
                assert box.stands

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not box.stands


def test_what_a_folder_holds(tmp_path: Path) -> None:
    (tmp_path / "a" / "b").mkdir(parents=True)
    (tmp_path / "a" / "b" / "file").write_bytes(b"x" * 1_000_000)
    (tmp_path / "again").hardlink_to(tmp_path / "a" / "b" / "file")
    (tmp_path / "link").symlink_to("/usr")
    with (tmp_path / "sparse").open("wb") as file:
        file.truncate(10**12)
    assert 1_000_000 <= folder_bytes(tmp_path) < 1_100_000


def test_a_workspace_over_its_limit_is_seen(tmp_path: Path) -> None:
    watch = DiskWatch(tmp_path, 5_000_000)
    assert watch.over() is None
    (tmp_path / "file").write_bytes(b"x" * 6_000_000)
    watch._looked -= 60  # as if a while had passed: free space of the disk is everybody's
    over = watch.over()
    assert over is not None and over.limit == 5_000_000 and over.value >= 6_000_000
    assert "it may hold 5,000,000" in over.text
