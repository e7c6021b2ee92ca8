"""Compare a copy in ordinary device memory with one in memory shared with another process.

    PYTHONPATH=src python benchmarks/gpu/shared_memory.py OUT.json

Ways of sharing: `handle` is the legacy cuIpcGetMemHandle on an exact or a rounded size, `descriptor`
is what `isolation.device_memory` does. Times are CUDA events, median of 20, cold L2.
"""

import ctypes
import json
import socket
import subprocess
import sys
from pathlib import Path

import torch
from kernels import N, timed_ms

from openrebench.isolation.device_memory import DeviceBuffer, _Exposed

BYTES = 4 * N
PAGES = -(-BYTES // (2 << 20)) * (2 << 20)


class Handle(ctypes.Structure):
    _fields_ = (("reserved", ctypes.c_char * 64),)


def driver(name, *arguments):
    code = getattr(ctypes.CDLL("libcuda.so.1"), name)(*arguments)
    if code:
        raise RuntimeError(f"{name}: CUDA error {code}")


def legacy(nbytes):
    address, raw = ctypes.c_uint64(), Handle()
    driver("cuMemAlloc_v2", ctypes.byref(address), ctypes.c_size_t(nbytes))
    driver("cuIpcGetMemHandle", ctypes.byref(raw), address)
    return view(address), bytes(raw).hex()


def opened(handle):
    address = ctypes.c_uint64()
    raw = Handle.from_buffer_copy(bytes.fromhex(handle))
    driver("cuIpcOpenMemHandle_v2", ctypes.byref(address), raw, ctypes.c_uint(1))
    return view(address)


def view(address):
    return torch.as_tensor(_Exposed(address.value, N), device="cuda")


def copy_ms(source, target):
    source.random_()
    return timed_ms(lambda x: target.copy_(x), source)


def child(fd):
    control = socket.socket(fileno=fd)
    torch.zeros(1, device="cuda")
    message, descriptors, _, _ = socket.recv_fds(control, 4096, 16)
    found = {}
    for name, handles in json.loads(message).items():
        found[f"{name}, opened"] = copy_ms(*(opened(handle) for handle in handles))
    tensors = [DeviceBuffer.open(descriptor, BYTES).ints() for descriptor in descriptors]
    found["descriptor, opened"] = copy_ms(*tensors)
    control.send(json.dumps(found).encode())


def main():
    torch.zeros(1, device="cuda")
    found = {"device": torch.cuda.get_device_name(), "torch": torch.__version__, "n": N}
    plain = [torch.empty(N, dtype=torch.int32, device="cuda") for _ in range(2)]
    found["ordinary"] = copy_ms(*plain)
    handles = {}
    for name, nbytes in (("handle, exact size", BYTES), ("handle, whole pages", PAGES)):
        (x, a), (y, b) = legacy(nbytes), legacy(nbytes)
        handles[name] = [a, b]
        found[f"{name}, owner"] = copy_ms(x, y)
    buffers = [DeviceBuffer.allocate(BYTES) for _ in range(2)]
    found["descriptor, owner"] = copy_ms(*(b.ints() for b in buffers))
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    command = [sys.executable, __file__, "--child", str(theirs.fileno())]
    with subprocess.Popen(command, pass_fds=[theirs.fileno()]):
        theirs.close()
        descriptors = [b.descriptor() for b in buffers]
        socket.send_fds(ours, [json.dumps(handles).encode()], descriptors)
        found |= json.loads(ours.recv(4096))
    found["ordinary, after"] = copy_ms(*plain)
    print(json.dumps(found, indent=1))
    Path(sys.argv[1]).write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    child(int(sys.argv[2])) if sys.argv[1] == "--child" else main()
