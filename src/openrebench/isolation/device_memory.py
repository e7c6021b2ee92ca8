"""Device memory that two processes share by file descriptor, through the CUDA driver.

Each buffer is an allocation of its own, so that who gets its descriptor gets nothing beside it.
It is mapped in whole pages on both sides: memory of another size that was opened by a legacy
handle was half as fast on an H200 (docs/gpu.md).
"""

import ctypes
import os
from typing import TYPE_CHECKING, Any, Self

if TYPE_CHECKING:
    import torch

# Values of the driver's enumerations.
PINNED, POSIX_DESCRIPTOR, ON_DEVICE, RECOMMENDED, READ_WRITE = 1, 1, 1, 1, 3


class _Location(ctypes.Structure):
    _fields_ = (("type", ctypes.c_int), ("id", ctypes.c_int))


class _Properties(ctypes.Structure):
    _fields_ = (
        ("type", ctypes.c_int),
        ("handle_types", ctypes.c_int),
        ("location", _Location),
        ("windows_only", ctypes.c_void_p),
        ("flags", ctypes.c_ubyte * 8),
    )


class _Access(ctypes.Structure):
    _fields_ = (("location", _Location), ("flags", ctypes.c_int))


def _call(name: str, *arguments: object) -> None:
    """Call a function of the driver; integers that are no sizes must come as ctypes values."""
    code = getattr(ctypes.CDLL("libcuda.so.1"), name)(*arguments)
    if code:
        raise RuntimeError(f"{name} failed with CUDA error {code}")


def _location() -> _Location:
    import torch

    return _Location(ON_DEVICE, torch.cuda.current_device())


def _properties() -> _Properties:
    return _Properties(PINNED, POSIX_DESCRIPTOR, _location())


def _whole_pages(nbytes: int) -> int:
    page = ctypes.c_size_t()
    properties = ctypes.byref(_properties())
    _call("cuMemGetAllocationGranularity", ctypes.byref(page), properties, RECOMMENDED)
    return -(-nbytes // page.value) * page.value


class DeviceBuffer:
    """Bytes on the device, ours or opened; needs a current context (any torch tensor makes it).

    Args:
        allocation: The driver's handle; this object owns it.
        nbytes: Bytes asked for; the mapping has whole pages.
    """

    def __init__(self, allocation: ctypes.c_uint64, nbytes: int) -> None:
        self.nbytes, self._size = nbytes, ctypes.c_size_t(_whole_pages(nbytes))
        self._allocation, self._address = allocation, ctypes.c_uint64()
        none, access = ctypes.c_uint64(0), _Access(_location(), READ_WRITE)
        _call("cuMemAddressReserve", ctypes.byref(self._address), self._size, none, none, none)
        _call("cuMemMap", self._address, self._size, none, allocation, none)
        one = ctypes.c_size_t(1)
        _call("cuMemSetAccess", self._address, self._size, ctypes.byref(access), one)

    @classmethod
    def allocate(cls, nbytes: int) -> Self:
        """Take device memory."""
        allocation, size = ctypes.c_uint64(), ctypes.c_size_t(_whole_pages(nbytes))
        properties = ctypes.byref(_properties())
        _call("cuMemCreate", ctypes.byref(allocation), size, properties, ctypes.c_uint64(0))
        return cls(allocation, nbytes)

    @classmethod
    def open(cls, descriptor: int, nbytes: int) -> Self:
        """Map another process's buffer; closes the descriptor."""
        allocation, file = ctypes.c_uint64(), ctypes.c_void_p(descriptor)
        imported = ctypes.byref(allocation)
        _call("cuMemImportFromShareableHandle", imported, file, POSIX_DESCRIPTOR)
        os.close(descriptor)
        return cls(allocation, nbytes)

    def descriptor(self) -> int:
        """Give a new file descriptor by which another process opens the buffer."""
        file, none = ctypes.c_int(), ctypes.c_uint64(0)
        exported = ctypes.byref(file)
        _call("cuMemExportToShareableHandle", exported, self._allocation, POSIX_DESCRIPTOR, none)
        return file.value

    def ints(self) -> "torch.Tensor":
        """View the buffer as a tensor: (nbytes / 4,), int32."""
        import torch

        return torch.as_tensor(_Exposed(self._address.value, self.nbytes // 4), device="cuda")

    def close(self) -> None:
        """Give the memory back; tensors over it must be gone."""
        _call("cuMemUnmap", self._address, self._size)
        _call("cuMemAddressFree", self._address, self._size)
        _call("cuMemRelease", self._allocation)


class _Exposed:
    """What `torch.as_tensor` needs to see memory that is not its own."""

    def __init__(self, address: int, n: int) -> None:
        self.__cuda_array_interface__: dict[str, Any] = {
            "shape": (n,),
            "typestr": "<i4",
            "data": (address, False),
            "version": 2,
        }
