"""Device memory that two processes share by handle, through the CUDA driver.

Each buffer is an allocation of its own: the handle of a tensor from a caching allocator would
open the whole block around it, and with it the neighbours.
"""

import ctypes
from typing import TYPE_CHECKING, Any, Self

if TYPE_CHECKING:
    import torch

HANDLE_BYTES = 64
LAZY_PEER_ACCESS = 1


class _Handle(ctypes.Structure):
    _fields_ = (("reserved", ctypes.c_char * HANDLE_BYTES),)


def _driver() -> ctypes.CDLL:
    return ctypes.CDLL("libcuda.so.1")


def _check(code: int, what: str) -> None:
    if code:
        raise RuntimeError(f"{what} failed with CUDA error {code}")


class DeviceBuffer:
    """Bytes on the device, ours or opened by handle."""

    def __init__(self, address: int, nbytes: int, *, opened: bool) -> None:
        self.address, self.nbytes, self._opened = address, nbytes, opened

    @classmethod
    def allocate(cls, nbytes: int) -> Self:
        """Take device memory in the current context; needs one (any torch tensor makes it)."""
        address = ctypes.c_uint64()
        allocated = _driver().cuMemAlloc_v2(ctypes.byref(address), ctypes.c_size_t(nbytes))
        _check(allocated, "allocating")
        return cls(address.value, nbytes, opened=False)

    @classmethod
    def open(cls, handle: bytes, nbytes: int) -> Self:
        """Map another process's buffer."""
        address, raw = ctypes.c_uint64(), _Handle.from_buffer_copy(handle)
        opened = _driver().cuIpcOpenMemHandle_v2(
            ctypes.byref(address), raw, ctypes.c_uint(LAZY_PEER_ACCESS)
        )
        _check(opened, "opening a shared buffer")
        return cls(address.value, nbytes, opened=True)

    def handle(self) -> bytes:
        """Give the 64 bytes by which another process opens the buffer."""
        raw = _Handle()
        shared = _driver().cuIpcGetMemHandle(ctypes.byref(raw), ctypes.c_uint64(self.address))
        _check(shared, "sharing a buffer")
        return bytes(raw)

    def ints(self) -> "torch.Tensor":
        """View the buffer as a tensor: (nbytes / 4,), int32."""
        import torch

        return torch.as_tensor(_Exposed(self.address, self.nbytes // 4), device="cuda")

    def close(self) -> None:
        """Give the memory back; tensors over it must be gone."""
        driver, address = _driver(), ctypes.c_uint64(self.address)
        if self._opened:
            _check(driver.cuIpcCloseMemHandle(address), "closing a shared buffer")
        else:
            _check(driver.cuMemFree_v2(address), "freeing")


class _Exposed:
    """What `torch.as_tensor` needs to see memory that is not its own."""

    def __init__(self, address: int, n: int) -> None:
        self.__cuda_array_interface__: dict[str, Any] = {
            "shape": (n,),
            "typestr": "<i4",
            "data": (address, False),
            "version": 2,
        }
