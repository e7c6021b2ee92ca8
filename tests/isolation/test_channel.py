"""Shared files of the channel: sealed at once, whoever holds their pages, and for good."""

import ctypes
import fcntl
import mmap
import os
from collections.abc import Callable, Iterator

import pytest

from openrebench.isolation import channel

CONTENT = bytes(range(256)) * 256
LIBC = ctypes.CDLL(None, use_errno=True)
PUNCH_HOLE = 3  # FALLOC_FL_KEEP_SIZE | FALLOC_FL_PUNCH_HOLE


@pytest.fixture
def held(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A pipe holds a page of each file that is being sealed, as the kernel does for moments."""
    ends = os.pipe()
    add_seals = fcntl.fcntl

    def late(fd: int, command: int, seals: int) -> int:
        assert os.splice(fd, ends[1], mmap.PAGESIZE, offset_src=0) == mmap.PAGESIZE
        return add_seals(fd, command, seals)

    monkeypatch.setattr(channel.fcntl, "fcntl", late)
    yield
    for end in ends:
        os.close(end)


@pytest.fixture(params=["free", "held"])
def sealed(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[int]:
    if request.param == "held":
        request.getfixturevalue("held")
    fd = channel.sealed_file(CONTENT)
    monkeypatch.undo()
    yield fd
    os.close(fd)


def test_a_file_whose_pages_are_held_is_sealed_all_the_same(held: None) -> None:
    fd = channel.sealed_file(CONTENT)
    assert os.pread(fd, 2 * len(CONTENT), 0) == CONTENT
    os.close(fd)


def test_what_else_keeps_a_file_from_being_sealed_is_an_error() -> None:
    unsealable = os.memfd_create("unsealable")
    with pytest.raises(PermissionError):
        channel._forbid_writing(unsealable)
    os.close(unsealable)


def reopen_and_write(fd: int) -> None:
    again = os.open(f"/proc/self/fd/{fd}", os.O_RDWR)
    try:
        os.pwrite(again, b"changed", 0)
    finally:
        os.close(again)


def splice_into(fd: int) -> None:
    reading, writing = os.pipe()
    try:
        os.write(writing, b"changed")
        os.splice(reading, fd, 7, offset_dst=0)
    finally:
        os.close(reading)
        os.close(writing)


def punch_a_hole(fd: int) -> None:
    _checked(LIBC.fallocate(fd, PUNCH_HOLE, ctypes.c_long(0), ctypes.c_long(mmap.PAGESIZE)))


def map_to_read_then_ask_to_write(fd: int) -> None:
    LIBC.mmap.restype = ctypes.c_void_p
    size = ctypes.c_size_t(mmap.PAGESIZE)
    address = LIBC.mmap(None, size, mmap.PROT_READ, mmap.MAP_SHARED, fd, ctypes.c_long(0))
    try:
        both = mmap.PROT_READ | mmap.PROT_WRITE
        _checked(LIBC.mprotect(ctypes.c_void_p(address), size, both))
    finally:
        LIBC.munmap(ctypes.c_void_p(address), size)


def _checked(returned: int) -> None:
    if returned:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))


WAYS: dict[str, Callable[[int], object]] = {
    "write": lambda fd: os.pwrite(fd, b"changed", 0),
    "reopen": reopen_and_write,
    "splice": splice_into,
    "map": lambda fd: mmap.mmap(fd, len(CONTENT)),
    "mprotect": map_to_read_then_ask_to_write,
    "hole": punch_a_hole,
    "shrink": lambda fd: os.ftruncate(fd, 0),
    "grow": lambda fd: os.ftruncate(fd, 2 * len(CONTENT)),
    "unseal": lambda fd: fcntl.fcntl(fd, fcntl.F_ADD_SEALS, 0),
}


@pytest.mark.parametrize("way", WAYS)
def test_no_way_to_change_a_sealed_file(sealed: int, way: str) -> None:
    with pytest.raises(PermissionError):
        WAYS[way](sealed)
    assert os.pread(sealed, 2 * len(CONTENT), 0) == CONTENT


@pytest.mark.parametrize("way", [way for way in WAYS if way != "unseal"])
def test_each_way_changes_a_file_without_seals(way: str) -> None:
    fd = os.memfd_create("open", os.MFD_ALLOW_SEALING)
    os.write(fd, CONTENT)
    WAYS[way](fd)
    os.close(fd)
