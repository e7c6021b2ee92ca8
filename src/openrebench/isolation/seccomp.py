"""The system calls that untrusted code may not make, as a classic BPF program.

A deny list: compilers, torch and CUDA use too many calls for an allow list to stay right. It
takes away what reaches other processes' memory, further namespaces and rarely tested parts of
the kernel; everything else is up to namespaces, file rules and the user id.
"""

import platform
import struct
from collections.abc import Iterable
from typing import NamedTuple

ALLOW, KILL, ERRNO = 0x7FFF0000, 0x80000000, 0x00050000
EPERM, ENOSYS = 1, 38
LOAD, EQUAL, AT_LEAST, ANY_BIT, RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
CALL_NUMBER, ARCHITECTURE, FIRST_ARGUMENT, SECOND_ARGUMENT = 0, 4, 16, 24
X32_CALLS = 0x40000000
NEW_NAMESPACES = 0x7E020000  # every CLONE_NEW* flag that clone takes
FAKE_INPUT = (0x5412, 0x541C)  # TIOCSTI, TIOCLINUX: type into the terminal of who started us
FAMILIES = (1, 2, 10)  # UNIX, INET, INET6
NETLINK = 16  # how NCCL and gloo list the interfaces of their namespace


class Architecture(NamedTuple):
    """Where the numbers of a machine's calls are: its audit name and its column below."""

    audit: int
    column: int


ARCHITECTURES = {
    "x86_64": Architecture(0xC000003E, 0),
    "aarch64": Architecture(0xC00000B7, 1),
}
# name: x86-64, aarch64; None where the machine does not have the call.
DENIED: dict[str, tuple[int | None, int | None]] = {
    "ptrace": (101, 117), "process_vm_readv": (310, 270), "process_vm_writev": (311, 271),
    "kcmp": (312, 272), "pidfd_getfd": (438, 438), "process_madvise": (440, 440),
    "perf_event_open": (298, 241), "bpf": (321, 280), "userfaultfd": (323, 282),
    "io_uring_setup": (425, 425), "io_uring_enter": (426, 426), "io_uring_register": (427, 427),
    "mount": (165, 40), "umount2": (166, 39), "pivot_root": (155, 41), "chroot": (161, 51),
    "open_tree": (428, 428), "move_mount": (429, 429), "fsopen": (430, 430),
    "fsconfig": (431, 431), "fsmount": (432, 432), "fspick": (433, 433),
    "mount_setattr": (442, 442), "setns": (308, 268), "unshare": (272, 97),
    "add_key": (248, 217), "request_key": (249, 218), "keyctl": (250, 219),
    "init_module": (175, 105), "finit_module": (313, 273), "delete_module": (176, 106),
    "kexec_load": (246, 104), "kexec_file_load": (320, 294), "reboot": (169, 142),
    "swapon": (167, 224), "swapoff": (168, 225), "acct": (163, 89), "syslog": (103, 116),
    "quotactl": (179, 60), "nfsservctl": (180, 42), "name_to_handle_at": (303, 264),
    "open_by_handle_at": (304, 265), "settimeofday": (164, 170), "clock_settime": (227, 112),
    "clock_adjtime": (305, 266), "adjtimex": (159, 171), "iopl": (172, None),
    "ioperm": (173, None), "personality": (135, 92), "sethostname": (170, 161),
    "setdomainname": (171, 162), "vhangup": (153, 58), "lookup_dcookie": (212, 18),
    "uselib": (134, None), "ustat": (136, None), "sysfs": (139, None), "_sysctl": (156, None),
}  # fmt: skip
# Without namespaces of its own a process could meet a helper outside through these.
MEETING_PLACES: dict[str, tuple[int | None, int | None]] = {
    "socket": (41, 198), "shmget": (29, 194), "shmat": (30, 196), "shmctl": (31, 195),
    "shmdt": (67, 197), "semget": (64, 190), "semop": (65, 193), "semctl": (66, 191),
    "semtimedop": (220, 192), "msgget": (68, 186), "msgsnd": (69, 189), "msgrcv": (70, 188),
    "msgctl": (71, 187), "mq_open": (240, 180),
}  # fmt: skip
CLONE, CLONE3, SOCKET, IOCTL = (56, 220), (435, 435), (41, 198), (16, 29)

Step = tuple[int, int, int, int]


def program(*, namespaces: bool, netlink: bool = False, machine: str | None = None) -> bytes:
    """Build the filter.

    Args:
        namespaces: Whether the process has its own network and IPC namespaces. Without them it
            gets no sockets but ready-made pairs, and no System V or POSIX message queues.
        netlink: Whether processes on several GPUs have to find each other in there.
        machine: As `platform.machine()` names it; this machine if None.

    Raises:
        KeyError: Call numbers of the machine are not known here.
    """
    audit, column = ARCHITECTURES[machine or platform.machine()]
    denied = DENIED if namespaces else {**DENIED, **MEETING_PLACES}
    numbers = (pair[column] for pair in denied.values())
    steps = [
        (LOAD, 0, 0, ARCHITECTURE),
        (EQUAL, 1, 0, audit),
        _give(KILL),
        (LOAD, 0, 0, CALL_NUMBER),
        (AT_LEAST, 0, 1, X32_CALLS),
        _give(ERRNO | EPERM),
        *_deny(sorted(n for n in numbers if n is not None)),
        # glibc then falls back to clone, whose flags a filter can see.
        (EQUAL, 0, 1, CLONE3[column]),
        _give(ERRNO | ENOSYS),
        *_arguments(column, (*FAMILIES, NETLINK) if netlink else FAMILIES),
        _give(ALLOW),
    ]
    return b"".join(struct.pack("<HBBI", *step) for step in steps)


def _give(verdict: int) -> Step:
    return (RETURN, 0, 0, verdict)


def _deny(numbers: Iterable[int]) -> Iterable[Step]:
    for number in numbers:
        yield (EQUAL, 0, 1, number)
        yield _give(ERRNO | EPERM)


def _arguments(column: int, families: tuple[int, ...]) -> Iterable[Step]:
    """Judge calls by an argument: clone's flags, a socket's family, an ioctl's request."""
    yield from _when(CLONE[column], FIRST_ARGUMENT, ANY_BIT, (NEW_NAMESPACES,), ERRNO | EPERM)
    yield from _when(SOCKET[column], FIRST_ARGUMENT, EQUAL, families, ALLOW)
    yield from _when(IOCTL[column], SECOND_ARGUMENT, EQUAL, FAKE_INPUT, ERRNO | EPERM)


def _when(
    number: int, argument: int, test: int, values: tuple[int, ...], verdict: int
) -> Iterable[Step]:
    """Give the verdict if the call's argument passes the test, else the opposite one."""
    otherwise = ALLOW if verdict != ALLOW else ERRNO | EPERM
    yield (EQUAL, 0, 2 + 2 * len(values), number)
    yield (LOAD, 0, 0, argument)
    for value in values:
        yield (test, 0, 1, value)
        yield _give(verdict)
    yield _give(otherwise)
