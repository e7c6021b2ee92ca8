import os
import time

import pytest

from openrebench.errors import InvalidSubmission, Reason
from openrebench.isolation.snapshot import Snapshot, take


def test_takes_what_matches_and_writes_it_back(tmp_path) -> None:
    for name in ("solution.py", "kernel.cu", "notes.md", "a/b/deep.py"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(name)
    assert list(take(tmp_path, ["*.py", "*.cu"], 1000).files) == ["kernel.cu", "solution.py"]
    assert list(take(tmp_path, ["**/*.py"], 1000).files) == ["a/b/deep.py", "solution.py"]
    everything = take(tmp_path, ["**/*"], 1000)
    assert len(everything.files) == 4
    everything.write(tmp_path / "copy")
    assert take(tmp_path / "copy", ["**/*"], 1000) == everything


def test_the_hash_is_over_names_and_contents() -> None:
    hashes = {
        Snapshot.of(files).sha256
        for files in ({"a": b"bc"}, {"ab": b"c"}, {"a": b"b", "c": b""}, {"a": b"bd"})
    }
    assert len(hashes) == 4
    assert Snapshot.of({"a": b"", "b": b""}) == Snapshot.of({"b": b"", "a": b""})


def test_links_fifos_and_devices_are_left_alone_without_waiting(tmp_path) -> None:
    hidden = tmp_path / "hidden"
    hidden.mkdir()
    (hidden / "answer.py").write_text("CANARY")
    work = tmp_path / "work"
    work.mkdir()
    (work / "solution.py").write_text("x = 1")
    (work / "folder").symlink_to(hidden)
    (work / "link.py").symlink_to(hidden / "answer.py")
    (work / "loop.py").symlink_to("loop.py")
    os.mkfifo(work / "pipe.py")
    started = time.monotonic()
    assert list(take(work, ["**/*"], 1000).files) == ["solution.py"]
    assert time.monotonic() - started < 1


@pytest.mark.parametrize("linked", [False, True])
def test_nothing_to_take_says_what_is_expected(tmp_path, linked) -> None:
    if linked:
        (tmp_path / "solution.py").symlink_to("/etc/passwd")
    with pytest.raises(InvalidSubmission, match=r"solution\.py") as caught:
        take(tmp_path, ["solution.py"], 1000)
    assert caught.value.reason is Reason.MISSING_FILE
    assert ("link" in caught.value.message) == linked


def test_too_much_is_refused(tmp_path) -> None:
    (tmp_path / "a.py").write_bytes(bytes(600))
    (tmp_path / "b.py").write_bytes(bytes(600))
    with pytest.raises(InvalidSubmission, match="larger than 1000 bytes"):
        take(tmp_path, ["*.py"], 1000)
