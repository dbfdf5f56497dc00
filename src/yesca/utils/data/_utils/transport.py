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
        buffer = io.BytesIO()
        written: list[str] = []
        try:
            _Pickler(buffer, self, written).dump(data)
        except BaseException:
            for path in written:
                os.unlink(path)
            raise
        return buffer.getvalue()

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
    def __init__(self, buffer: io.BytesIO, sender: Sender, written: list[str]) -> None:
        super().__init__(buffer, protocol=5)
        self._sender = sender
        self._written = written

    def reducer_override(self, obj: Any) -> Any:
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
        whole = _alone(obj)
        data = access.memory(whole.untyped_storage())
        form = (obj.dtype, whole.storage_offset(), tuple(whole.size()), tuple(whole.stride()),
                obj.requires_grad)
        if len(data) >= SHARED_FROM:
            path = self._sender.write_file(data, self._written)
            if path is not None:
                return _from_file, (path, len(data), *form)
        return _from_bytes, (pickle.PickleBuffer(data), *form)


def _alone(tensor: Any) -> Any:
    """The tensor, or a copy of what it shows of a larger storage."""
    if tensor.untyped_storage().nbytes() == tensor.numel() * tensor.dtype.itemsize:
        return tensor
    return tensor.detach().clone()


def unpack(data: bytes) -> Any:
    """The batch that was packed; its files are removed."""
    return pickle.loads(data)


def discard(data: bytes) -> None:
    """Remove the files of a batch that nobody wants any more."""
    pickle.loads(data)


def _from_file(path: str, nbytes: int, *form: Any) -> Any:
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
    return _tensor(storage, *form)


def _from_bytes(data: Any, *form: Any) -> Any:
    return _tensor(access.copy_of(data), *form)


def _tensor(storage: Any, dtype: Any, offset: int, size: Any, stride: Any,
            requires_grad: bool) -> Any:
    typed = access.TypedBytes(storage, dtype)
    return _rebuild_tensor_v2(typed, offset, size, stride, requires_grad, OrderedDict())
