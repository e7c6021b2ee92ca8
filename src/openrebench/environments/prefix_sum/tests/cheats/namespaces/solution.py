"""Try to get privileges back: namespaces, mounts, setuid, raw sockets, kernel interfaces."""

import ctypes
import socket

from start_solution import prefix_sum  # noqa: F401

libc = ctypes.CDLL(None, use_errno=True)
libc.unshare(0x10020000)
libc.mount(b"none", b"/tmp", b"tmpfs", 0, None)
libc.mount(b"none", b"/", None, 0x1020, None)
libc.setuid(0)
libc.chroot(b"/tmp")
for family in (socket.AF_NETLINK, socket.AF_PACKET):
    try:
        socket.socket(family, socket.SOCK_RAW).close()
    except OSError:
        pass
