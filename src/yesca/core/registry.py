"""What a lower room needs of an upper one: exactly four registration points.

An upper room sets these once, when it is first imported; nothing else in the engine reaches up.

1. `wrap`: make a public tensor from its slots (set by `yesca._tensor`).
2. `record_node`: attach a tape node to results (set by `yesca.autograd`).
3. `capture`: offer a plan and its operands to the recorder of the running thread; gives the
   storages of the results, or None when the call must run now (set by `yesca.graph`).
4. `allocate`: materialise the bytes of a storage (set by `yesca.runtime.memory`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def _load_memory(nbytes: int) -> tuple[int, object]:
    raise RuntimeError("yesca.runtime.memory is not set up: no memory can be allocated")


def _not_loaded(*_: Any) -> Any:
    raise RuntimeError("yesca._tensor is not loaded: no tensor can be made")


wrap: Callable[..., Any] = _not_loaded
record_node: Callable[..., Any] = _not_loaded
capture: Callable[..., Any] | None = None
allocate: Callable[[int], tuple[int, object]] = _load_memory
