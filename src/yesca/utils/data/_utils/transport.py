"""Batches between processes: a pickle, with large tensors beside it in shared memory.

The sender writes a large tensor to a file in the system's memory file system, and the receiver
reads it into memory of its own and removes the file. Space is reserved before it is used, so a
full file system means a slower way (the bytes go with the pickle), not a crash. Files carry the
receiver's prefix; what is left when it is done with its workers is removed by that.
"""

from __future__ import annotations

import glob
import io
import itertools
import os
import pickle
import secrets
from collections import OrderedDict
from typing import Any

from .... import _storage_access as access
from ...._rebuild import _rebuild_tensor_v2
from ...._tensor import Tensor

SHARED_FOLDER = "/dev/shm"
#: Below this a pipe is as fast as a file.
SHARED_FROM = 64 * 1024


def new_prefix() -> str | None:
    """A prefix of paths for one receiver's files; None where there is no shared memory."""
    if not hasattr(os, "posix_fallocate") or not os.access(SHARED_FOLDER, os.W_OK):
        return None
    return f"{SHARED_FOLDER}/yesca-{os.getpid()}-{secrets.token_hex(6)}-"


def worker_prefix(prefix: str | None, worker_id: int) -> str | None:
    """The prefix of one sender's files."""
    return None if prefix is None else f"{prefix}{worker_id}-"


def remove_files(prefix: str | None) -> None:
    """Remove the files that nobody has read."""
    for path in glob.glob(f"{glob.escape(prefix)}*") if prefix else ():
        try:
            os.unlink(path)
        except FileNotFoundError:
            pass


class Sender:
    """Packs the batches of one worker. `prefix` is None where memory cannot be shared."""

    def __init__(self, prefix: str | None, worker_id: int) -> None:
        self._prefix = worker_prefix(prefix, worker_id)
        self._numbers = itertools.count()

    def pack(self, data: Any) -> bytes:
        """Bytes that `unpack` makes the batch of again, once."""
        packed, split = self._attempt(data, frozenset())
        if split:  # views that show most of one storage still share it on the other side
            discard(packed)
            packed, _ = self._attempt(data, split)
        return packed

    def _attempt(self, data: Any, whole: frozenset[int]) -> tuple[bytes, frozenset[int]]:
        buffer = io.BytesIO()
        pickler = _Pickler(buffer, self, whole)
        try:
            pickler.dump(data)
        except BaseException:
            for path in pickler.written:
                os.unlink(path)
            raise
        return buffer.getvalue(), pickler.split_storages()

    def write_file(self, data: memoryview, written: list[str]) -> str | None:
        """Put bytes in a file of their own; None if there is no room."""
        if self._prefix is None:
            return None
        path = f"{self._prefix}{next(self._numbers)}"
        try:
            file = os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600)
        except OSError:
            return None
        written.append(path)
        try:
            os.posix_fallocate(file, 0, len(data))
            done = 0
            while done < len(data):
                done += os.write(file, data[done:])
        except OSError:
            written.pop()
            os.unlink(path)
            return None
        finally:
            os.close(file)
        return path


class _Pickler(pickle.Pickler):
    """Storages are objects of their own in the pickle: two tensors of one storage stay so.

    Of a tensor that shows a part of its storage only that part goes, but where the storage is
    among `whole`.
    """

    def __init__(self, buffer: io.BytesIO, sender: Sender, whole: frozenset[int]) -> None:
        super().__init__(buffer, protocol=5)
        self.written: list[str] = []
        self._sender = sender
        self._whole = whole
        self._parts: dict[int, list[Any]] = {}  # tensors that show a part, by storage

    def reducer_override(self, obj: Any) -> Any:
        if type(obj) is access.UntypedStorage and obj.device.type == "cpu":
            return self._reduced_storage(obj)
        if type(obj) is not Tensor or obj.device.type != "cpu" or getattr(obj, "__dict__", None):
            return NotImplemented
        if obj.is_sparse or access.lazy_flags(obj):
            return NotImplemented
        if obj.requires_grad and not obj.is_leaf:
            raise RuntimeError(
                "Cowardly refusing to serialize non-leaf tensor which requires_grad, since "
                "autograd does not support crossing process boundaries. If you just want to "
                "transfer the data, call detach() on the tensor before serializing (e.g., putting "
                "it on the queue)."
            )
        shown = self._alone(obj)
        return _tensor, (shown.untyped_storage(), obj.dtype, shown.storage_offset(),
                         tuple(shown.size()), tuple(shown.stride()), obj.requires_grad)

    def _reduced_storage(self, storage: Any) -> Any:
        data = access.memory(storage)
        if len(data) >= SHARED_FROM:
            path = self._sender.write_file(data, self.written)
            if path is not None:
                return _from_file, (path, len(data))
        return access.copy_of, (pickle.PickleBuffer(data),)

    def _alone(self, tensor: Any) -> Any:
        """The tensor, or a copy of what it shows of a larger storage."""
        storage = tensor.untyped_storage()
        shown = tensor.numel() * tensor.dtype.itemsize
        if storage.nbytes() <= shown or id(storage) in self._whole:
            return tensor
        self._parts.setdefault(id(storage), []).append(tensor)
        return tensor.detach().clone()

    def split_storages(self) -> frozenset[int]:
        """Storages of which several tensors have shown more than half, as numbers."""
        return frozenset(
            number for number, tensors in self._parts.items()
            if len(tensors) > 1 and 2 * sum(t.numel() * t.dtype.itemsize for t in tensors)
            > tensors[0].untyped_storage().nbytes()
        )


def unpack(data: bytes) -> Any:
    """The batch that was packed; its files are removed."""
    return pickle.loads(data)


def discard(data: bytes) -> None:
    """Remove the files of a batch that nobody wants any more."""
    pickle.loads(data)


def _from_file(path: str, nbytes: int) -> Any:
    storage = access.new_storage(nbytes)
    with open(path, "rb", buffering=0) as file:
        os.unlink(path)
        target, done = access.memory(storage), 0
        while done < nbytes:
            count = file.readinto(target[done:])
            if not count:
                raise RuntimeError(f"{path} ended after {done} of {nbytes} bytes; a batch from a "
                                   "worker process is lost")
            done += count
    return storage


def _tensor(storage: Any, dtype: Any, offset: int, size: Any, stride: Any,
            requires_grad: bool) -> Any:
    typed = access.TypedBytes(storage, dtype)
    return _rebuild_tensor_v2(typed, offset, size, stride, requires_grad, OrderedDict())
