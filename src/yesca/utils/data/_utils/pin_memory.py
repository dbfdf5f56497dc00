"""`pin_memory(batch)`: the batch with its tensors in page-locked memory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from .. import _engine
from .collate import _rebuilt_mapping, _rebuilt_sequence


def pin_memory(data: Any, device: Any = None) -> Any:
    """Pin every tensor in `data`, and every object that has a `pin_memory` method."""
    if isinstance(data, _engine.Tensor) or hasattr(data, "pin_memory"):
        return data.pin_memory()
    if isinstance(data, (str, bytes)):
        return data
    if isinstance(data, Mapping):
        items = {key: pin_memory(value, device) for key, value in data.items()}
        return _rebuilt_mapping(data, items)
    if isinstance(data, tuple):
        parts = [pin_memory(part, device) for part in data]
        return type(data)(*parts) if hasattr(data, "_fields") else type(data)(parts)
    if isinstance(data, Sequence):
        return _rebuilt_sequence(data, [pin_memory(part, device) for part in data])
    return data
