"""Recordings: players can read them, at any moment, and they can't fill the disk."""

import json
from pathlib import Path

from openrebench.human.recording import FULL, Recording, Size


def lines(file: Path) -> list[object]:
    return [json.loads(line) for line in file.read_text().splitlines()]


def test_a_recording_is_an_asciicast(tmp_path: Path) -> None:
    recording = Recording(tmp_path, Size(24, 80), "xterm")
    recording.output("grün".encode()[:3])  # in the middle of a letter
    recording.output("grün".encode()[3:])
    recording.resized(Size(30, 100))
    recording.mark("paused")
    header, *events = lines(tmp_path / "recordings" / "001.cast")  # before it is closed
    recording.close()
    assert (header["version"], header["width"], header["height"]) == (2, 80, 24)
    assert [event[1:] for event in events] == [
        ["o", "gr"],
        ["o", "ün"],
        ["r", "100x30"],
        ["m", "paused"],
    ]
    times = [event[0] for event in events]
    assert times == sorted(times) and times[0] >= 0


def test_each_sitting_has_a_file_of_its_own(tmp_path: Path) -> None:
    for _ in range(2):
        Recording(tmp_path, Size(24, 80), "xterm").close()
    assert [f.name for f in sorted((tmp_path / "recordings").iterdir())] == ["001.cast", "002.cast"]


def test_a_flood_ends_the_recording_with_a_mark(tmp_path: Path) -> None:
    recording = Recording(tmp_path, Size(24, 80), "xterm", max_bytes=10_000)
    for _ in range(1000):
        recording.output(b"\x1b" * 100)
    recording.close()
    file = tmp_path / "recordings" / "001.cast"
    assert file.stat().st_size < 12_000
    assert lines(file)[-1][1:] == ["m", FULL]
