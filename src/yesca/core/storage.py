"""Storage: the bytes that tensors are views of.

The room above gives memory: `runtime.memory` allocates a block and hands over an *owner*, an
object that releases it when it dies. A storage over foreign memory (NumPy, a buffer, a file)
keeps that object as its owner and is marked *exported*: it cannot be resized, and code outside
the engine may write to it.
"""

from __future__ import annotations

import copyreg
import ctypes
import os
from collections.abc import Iterator, Sequence
from typing import Any
from weakref import WeakKeyDictionary

from ..base.naming import public_module
from . import registry
from .devices import CPU, Device

#: Bits of `flags`.
EXPORTED = 1  # its address has left the engine
FOREIGN = 2  # its memory was never the engine's
SHARED = 4  # lives in shared memory
_NO_DATA = "Cannot copy out of meta tensor; no data!"


class UntypedStorage:
    """Bytes on a device. `data_ptr()` is the address, `nbytes()` the size."""

    # _number: its place in a recording, while a recorder holds it (see yesca.graph).
    __slots__ = ("_address", "_nbytes", "_device", "_owner", "_flags", "_typed", "_number",
                 "__weakref__")

    def __init__(self, nbytes: int | Sequence[int] = 0, *, device: object = None) -> None:
        given = None if isinstance(nbytes, int) else bytes(v & 255 for v in nbytes)
        self._device = CPU if device is None else Device(device)
        self._nbytes = int(nbytes) if given is None else len(given)  # type: ignore[call-overload]
        self._flags = 0
        self._typed = None
        if self._device.type == "meta":
            self._address, self._owner = 0, None
        else:
            self._address, self._owner = registry.allocate(self._nbytes)
            if given:
                ctypes.memmove(self._address, given, self._nbytes)

    @classmethod
    def _wrap(cls, address: int, nbytes: int, owner: object, flags: int,
              device: Device = CPU) -> UntypedStorage:
        self = cls.__new__(cls)
        self._address = address
        self._nbytes = nbytes
        self._device = device
        self._owner = owner
        self._flags = flags
        self._typed = None
        return self

    @classmethod
    def _from_buffer(cls, buffer: object) -> UntypedStorage:
        """A storage that shares a writable (or, unsafely, a read-only) buffer's memory."""
        view = memoryview(buffer).cast("B")  # type: ignore[arg-type]
        if view.nbytes == 0:
            return cls._wrap(0, 0, view, FOREIGN | EXPORTED)
        if view.readonly:
            import numpy as np

            address = np.frombuffer(view, np.uint8).ctypes.data
        else:
            address = ctypes.addressof(ctypes.c_char.from_buffer(view))
        return cls._wrap(address, view.nbytes, view, FOREIGN | EXPORTED)

    @classmethod
    def from_file(cls, filename: Any, shared: bool = False, nbytes: int = 0) -> UntypedStorage:
        """The first bytes of a file, read as they are asked for.

        Args:
            shared: what is written to the storage goes to the file, which is made and grown to
                `nbytes` if need be; else it stays with this storage.

        Raises RuntimeError for a file that cannot be opened, or is too short.
        """
        name = os.fspath(filename)
        if not nbytes:
            return cls(0)
        memory = _mapped(name, shared, nbytes)
        address = ctypes.addressof(ctypes.c_char.from_buffer(memory))
        made = cls._wrap(address, nbytes, memory, FOREIGN | (EXPORTED | SHARED if shared else 0))
        if shared:
            _files[made] = name
        return made

    @property
    def filename(self) -> str | None:
        """The file that this storage shares its bytes with."""
        return _files.get(self)

    def _memory(self) -> memoryview:
        """The bytes, writable. Whoever keeps it must keep the storage."""
        if self._nbytes == 0:
            return memoryview(bytearray())
        if self._device.type == "meta":
            raise NotImplementedError(_NO_DATA)
        array = (ctypes.c_char * self._nbytes).from_address(self._address)
        array._storage = self  # type: ignore[attr-defined]
        return memoryview(array).cast("B")

    def nbytes(self) -> int:
        """Size in bytes."""
        return self._nbytes

    def size(self) -> int:
        """Size in bytes."""
        return self._nbytes

    def __len__(self) -> int:
        return self._nbytes

    def element_size(self) -> int:
        """Always 1: the elements of an untyped storage are bytes."""
        return 1

    def untyped(self) -> UntypedStorage:
        """The storage itself: what code that may get a typed one asks for."""
        return self

    def data_ptr(self) -> int:
        """Address of the first byte (0 when there are none)."""
        self._flags |= EXPORTED
        return self._address

    @property
    def device(self) -> Device:
        return self._device

    @property
    def is_cuda(self) -> bool:
        return False

    def resizable(self) -> bool:
        return not self._flags & (EXPORTED | FOREIGN | SHARED)

    def is_shared(self) -> bool:
        return bool(self._flags & SHARED)

    def share_memory_(self) -> UntypedStorage:
        """Move the bytes to memory that processes forked from this one write to as well."""
        if self._device.type != "meta" and not self._flags & SHARED:
            if self._nbytes:
                import mmap

                memory = mmap.mmap(-1, self._nbytes)
                address = ctypes.addressof(ctypes.c_char.from_buffer(memory))
                ctypes.memmove(address, self._address, self._nbytes)
                self._address, self._owner = address, memory
            self._flags |= SHARED
        return self

    def resize_(self, nbytes: int) -> UntypedStorage:
        """Grow or shrink in place; the bytes that fit are kept."""
        if self._flags & FOREIGN:
            raise RuntimeError("Trying to resize storage that is not resizable")
        before = self._nbytes
        self._grow(nbytes)
        self._count_on(before)
        return self

    def _count_on(self, before: int) -> None:
        """Remember the most bytes that tensors over this storage may count on."""
        most = max(before, _most_bytes.get(self, 0))
        if self._nbytes < most:
            _most_bytes[self] = most
            self.__class__ = ShrunkStorage
        elif _most_bytes.pop(self, None) is not None:
            self.__class__ = UntypedStorage

    def _grow(self, nbytes: int) -> None:
        if self._device.type == "meta":
            self._nbytes = nbytes
            return
        address, owner = registry.allocate(nbytes)
        ctypes.memmove(address, self._address, min(nbytes, self._nbytes))
        self._address, self._owner, self._nbytes = address, owner, nbytes

    def clone(self) -> UntypedStorage:
        """A copy with bytes of its own."""
        made = UntypedStorage(self._nbytes, device=self._device)
        if self._nbytes and self._address:
            ctypes.memmove(made._address, self._address, self._nbytes)
        return made

    def copy_(self, source: UntypedStorage, non_blocking: bool = False) -> UntypedStorage:
        """Copy the bytes of `source`, which must be as many."""
        if source._nbytes != self._nbytes:
            raise RuntimeError(f"size does not match, self was {self._nbytes} bytes but src was "
                               f"{source._nbytes} bytes")
        if self._address:
            if source._device.type == "meta":
                raise NotImplementedError(_NO_DATA)
            ctypes.memmove(self._address, source._address, self._nbytes)
        return self

    def fill_(self, value: int) -> UntypedStorage:
        """Set every byte to `value`."""
        if self._address:
            ctypes.memset(self._address, int(value) & 255, self._nbytes)
        return self

    def cpu(self) -> UntypedStorage:
        if self._device.type == "meta":
            raise NotImplementedError(_NO_DATA)
        return self

    def tolist(self) -> list[int]:
        return list(self._memory())

    def __iter__(self) -> Iterator[int]:
        return iter(self.tolist())

    def __getitem__(self, index: int | slice) -> object:
        if isinstance(index, slice):
            view = self._memory()[index]
            return UntypedStorage._from_buffer(bytearray(view) if index.step else view)
        return self._memory()[index]

    def __setitem__(self, index: int | slice, value: int) -> None:
        if self._device.type == "meta":
            return
        memory = self._memory()
        for i in range(*index.indices(self._nbytes)) if isinstance(index, slice) else (index,):
            memory[i] = value & 255

    def __repr__(self) -> str:
        short = self._nbytes <= 1000 and self._device.type != "meta"
        listed = "\n ".join(map(str, self.tolist())) if short else "..."
        return (f" {listed}\n[torch.storage.UntypedStorage(device={self._device}) of size "
                f"{self._nbytes}]")


class ShrunkStorage(UntypedStorage):
    """A storage that was larger once: tensors over it may reach beyond its end.

    Machine code leaves the tensors of any but plain storages to its twin in Python, which measures
    them (`tensor_base.address_of`), so that plain ones cost nothing.
    """

    __slots__ = ()

    def clone(self) -> UntypedStorage:
        """A copy, which copies of these tensors will look at."""
        made = super().clone()
        made._count_on(_most_bytes[self])
        return made

    def __reduce_ex__(self, protocol: Any) -> Any:
        """Copies and pickles are those of a plain storage."""
        reduce = copyreg.dispatch_table.get(UntypedStorage)
        return super().__reduce_ex__(protocol) if reduce is None else reduce(self)


def _mapped(name: str, shared: bool, nbytes: int) -> Any:
    """A file's first bytes as memory."""
    import mmap

    try:
        file = os.open(name, os.O_RDWR | os.O_CREAT if shared else os.O_RDONLY)
    except OSError as error:
        raise RuntimeError(f"unable to open file <{name}> in read-{'write' if shared else 'only'} "
                           f"mode: {error.strerror} ({error.errno})") from None
    try:
        size = os.fstat(file).st_size
        if size < nbytes:
            if not shared:
                raise RuntimeError(f"file <{name}> size <{size}> is smaller than the required "
                                   f"mapping size <{nbytes}>")
            os.ftruncate(file, nbytes)
        return mmap.mmap(file, nbytes, access=mmap.ACCESS_WRITE if shared else mmap.ACCESS_COPY)
    finally:
        os.close(file)


_files: WeakKeyDictionary[UntypedStorage, str] = WeakKeyDictionary()
_most_bytes: WeakKeyDictionary[UntypedStorage, int] = WeakKeyDictionary()

UntypedStorage.__module__ = ShrunkStorage.__module__ = public_module("torch.storage")
ShrunkStorage.__name__ = ShrunkStorage.__qualname__ = UntypedStorage.__name__
