"""NumPy arrays over the memory of a call's tensors."""

from __future__ import annotations

import ctypes
from typing import Any

from ...core.spec import Spec


def array_at(address: int, seen: Spec) -> Any:
    """An array of a spec's dtype, shape and strides, beginning at an address.

    Conjugated values are copied: results never are conjugated.
    """
    import numpy as np

    kind = np.dtype(seen.dtype.name)
    if not seen.numel:
        return np.empty(tuple(seen.shape), kind)
    reach = sum((n - 1) * s for n, s in zip(seen.shape, seen.strides, strict=True)) + 1
    memory = (ctypes.c_char * (reach * kind.itemsize)).from_address(address)
    made = np.ndarray(tuple(seen.shape), kind, memory, 0,
                      tuple(s * kind.itemsize for s in seen.strides))
    return made.conj() if seen.conj else made
