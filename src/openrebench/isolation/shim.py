"""The untrusted side of a worker: runs in the sandbox, as `python shim.py SOCKET_FD FOLDER DEVICE`.

Everything in this process belongs to the submission once that is imported, so the trusted side
relies on nothing here but that bytes come back. Standard library and the worker environment only.
What the messages are is said in `worker`.
"""

import contextlib
import importlib
import inspect
import json
import mmap
import os
import select
import socket
import sys
import traceback
from collections.abc import Callable
from typing import Any, NoReturn

import torch

MESSAGE_BYTES, NONCE_BYTES, TEXT_BYTES, MOST_FILES = 4096, 32, 300, 3
MADV_POPULATE_READ = 22
HEADER_BYTES = 8
Function = Callable[..., Any]


class Refused(Exception):
    """What the submission gave can't be taken; `code` is one of the trusted side's reasons."""

    def __init__(self, code: str, text: str) -> None:
        super().__init__(text)
        self.code = code


def main() -> NoReturn:
    """Say that we are ready, take one submission, then answer calls."""
    control = socket.socket(fileno=int(sys.argv[1]))
    folder, device = sys.argv[2:]
    if device == "cpu":
        import numba  # noqa: F401 - ahead of the submission, whose load time this shortens
    control.send(b"ready")
    request, fds = receive(control)
    order = json.loads(request[NONCE_BYTES:])
    with answered(control, request[:NONCE_BYTES]):
        buffers = Buffers(order, device, fds[1:])
        unpack(fds[0], folder)
        function = load(folder, order["module"], order["function"])
        places = takes_out(function)
    name = f"{order['module']}.{order['function']}"
    while True:
        if device == "cuda":
            spin(control)
        request, fds = receive(control)
        nonce, asked = request[:NONCE_BYTES], request[NONCE_BYTES:]
        with answered(control, nonce) as remarks:
            marks = [mark()] if device == "cuda" else []
            for x, out in buffers.pairs(asked, fds):
                call(function, x, out, name, places=places)
            if marks:
                torch.cuda.synchronize()
                remarks.append(f"{marks[0].elapsed_time(mark(wait=True)):.4f}")


def receive(control: socket.socket) -> tuple[bytes, list[int]]:
    """Wait for a message of the trusted side; its end is ours too."""
    message, fds, _, _ = socket.recv_fds(control, MESSAGE_BYTES, MOST_FILES)
    if not message:
        os._exit(0)
    return message, fds


def spin(control: socket.socket) -> None:
    """Wait for a message without sleeping: waking up takes as long as a quick kernel."""
    while not select.select([control], [], [], 0)[0]:
        pass


def mark(*, wait: bool = False) -> torch.cuda.Event:
    """Record an event: what this process says of its time is compared, never believed."""
    event = torch.cuda.Event(enable_timing=True)
    event.record()
    if wait:
        event.synchronize()
    return event


@contextlib.contextmanager
def answered(control: socket.socket, nonce: bytes):  # type: ignore[no-untyped-def] # noqa: ANN201
    """Answer a request: `ok` and what the caller remarks, or a code and one sentence."""
    remarks: list[str] = []
    try:
        yield remarks
    except Refused as refused:
        answer = f"{refused.code} {refused}"
    except MemoryError:
        answer = "out_of_memory MemoryError"
    except BaseException as error:  # noqa: BLE001 - whatever a submission raises is its answer
        answer = f"crashed {last_line(error)}"
    else:
        answer = " ".join(["ok", *remarks])
    control.send(nonce + answer.encode("utf-8", "replace")[: TEXT_BYTES + NONCE_BYTES])


def last_line(error: BaseException) -> str:
    """Give the type and text of an exception in one line."""
    return " ".join("".join(traceback.format_exception_only(error)[-1:]).split())


class Buffers:
    """Where inputs come from and outputs go to: shared files, or shared device memory."""

    def __init__(self, order: dict[str, Any], device: str, fds: list[int]) -> None:
        self.device = device
        if self.device == "cpu":
            self.output = shared(fds[0])
            return
        sys.path.insert(0, os.path.dirname(__file__))
        from device_memory import DeviceBuffer  # type: ignore[import-not-found]

        torch.zeros(1, device="cuda")  # makes the context that memory is opened in
        memory = [DeviceBuffer.open(fd, order["bytes"]).ints() for fd in fds]
        self.rows = list(zip(*(m.view(order["rows"], -1) for m in memory), strict=True))
        self.asked = b""
        self.last: list[tuple[torch.Tensor, torch.Tensor]] = []

    def pairs(self, asked: bytes, fds: list[int]) -> list[tuple[torch.Tensor, torch.Tensor]]:
        """Give the inputs of a request and the places of their outputs."""
        if self.device == "cpu":
            x = private(fds[0])
            return [(x, self.output[: len(x)])]
        if asked != self.asked:  # else as before, and the clock is running
            calls, n = json.loads(asked)
            self.asked, self.last = asked, [(x[:n], out[:n]) for x, out in self.rows[:calls]]
        return self.last


def shared(fd: int) -> torch.Tensor:
    """Map the output buffer."""
    buffer = mmap.mmap(fd, os.fstat(fd).st_size, flags=mmap.MAP_SHARED | mmap.MAP_POPULATE)
    os.close(fd)
    return torch.frombuffer(buffer, dtype=torch.int32)


def unpack(fd: int, folder: str) -> None:
    """Write the submission's files; names were checked by the trusted side."""
    with os.fdopen(fd, "rb") as archive:
        archive.seek(0)
        index = json.loads(archive.read(int.from_bytes(archive.read(HEADER_BYTES), "little")))
        for name, size in index:
            path = os.path.join(folder, name)
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "wb") as file:
                file.write(archive.read(size))


def load(folder: str, module: str, name: str) -> Function:
    """Import the submission and find its function."""
    os.chdir(folder)
    sys.path.insert(0, folder)
    try:
        loaded = importlib.import_module(module)
    except MemoryError:
        raise
    except BaseException as error:
        where = place(error, folder, module)
        raise Refused("import_failed", f"{where}: {last_line(error)}") from error
    function = getattr(loaded, name, None)
    if not callable(function):
        raise Refused("import_failed", f"{module}.py has no function {name}")
    found: Function = function
    return found


def place(error: BaseException, folder: str, module: str) -> str:
    """Say where in the submission an error came up."""
    if isinstance(error, SyntaxError) and error.filename and error.filename.startswith(folder):
        return f"{os.path.relpath(error.filename, folder)} line {error.lineno}"
    frames = [f for f in traceback.extract_tb(error.__traceback__) if f.filename.startswith(folder)]
    if not frames:
        return f"{module}.py"
    return f"{os.path.relpath(frames[-1].filename, folder)} line {frames[-1].lineno}"


def takes_out(function: Function) -> bool:
    """Tell whether the function wants to be given the output's place."""
    try:
        return "out" in inspect.signature(function).parameters
    except (TypeError, ValueError):
        return False


def call(
    function: Function, x: torch.Tensor, out: torch.Tensor, name: str, *, places: bool
) -> None:
    """Call the function on an input and put its result into the shared output.

    A function with a parameter `out` (`places`) may write there itself, which spares it a copy.
    """
    y = function(x, out=out) if places else function(x)
    if type(y) is not torch.Tensor:
        kind = type(y)
        raise Refused("wrong_output", f"{name} returned {kind.__name__}; expected a torch.Tensor")
    if y.dtype != x.dtype:
        found = str(y.dtype).removeprefix("torch.")
        raise Refused("wrong_output", f"{name} returned dtype {found}; expected int32")
    if y.shape != x.shape:
        shapes = f"{tuple(y.shape)}; expected {tuple(x.shape)}"
        raise Refused("wrong_shape", f"{name} returned shape {shapes}")
    if y.device != x.device:
        raise Refused("wrong_output", f"{name} returned a tensor on {y.device}, not {x.device}")
    if y.data_ptr() != out.data_ptr():
        out.copy_(y)


def private(fd: int) -> torch.Tensor:
    """Map an input; writing to it changes nothing for anybody else."""
    size = os.fstat(fd).st_size
    if size == 0:
        os.close(fd)
        return torch.empty(0, dtype=torch.int32)
    pages = mmap.mmap(fd, size, flags=mmap.MAP_PRIVATE, prot=mmap.PROT_READ | mmap.PROT_WRITE)
    os.close(fd)
    with contextlib.suppress(OSError):
        pages.madvise(MADV_POPULATE_READ)
    return torch.frombuffer(pages, dtype=torch.int32)


if __name__ == "__main__":
    main()
