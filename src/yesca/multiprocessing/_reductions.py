"""How storages go to other processes: one over a shared file as the name of that file."""

from __future__ import annotations

import os
from multiprocessing.reduction import ForkingPickler
from typing import Any

from .. import _storage_access as access
from ..core.storage import UntypedStorage


def init_reductions() -> None:
    """Let what `multiprocessing` pickles name files in place of their bytes.

    Tensors of `from_file(..., shared=True)` are then the same memory in a process that was started
    by any method, and cost the same however long they are. Other storages go as copies; in forked
    processes all are there already.
    """
    ForkingPickler.register(UntypedStorage, _reduced)


def _reduced(storage: UntypedStorage) -> tuple[Any, ...]:
    if storage.filename is None:
        return access.reduce_storage(storage)
    return _reopened, (os.path.abspath(storage.filename), storage.nbytes())


def _reopened(name: str, nbytes: int) -> UntypedStorage:
    size = os.path.getsize(name) if os.path.exists(name) else 0
    if size < nbytes:  # to open it would make it longer
        raise RuntimeError(f"file <{name}>, which a tensor from another process shares, has {size} "
                           f"bytes where {nbytes} are needed")
    return UntypedStorage.from_file(name, shared=True, nbytes=nbytes)
