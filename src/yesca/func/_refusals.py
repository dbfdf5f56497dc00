"""What cannot be called on a batch, and how PyTorch says so."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..operators.record import Record
from ..profiler import names
from ._batched import unreadable

Values = tuple[Any, ...]

_DYNAMIC = ("vmap: We do not support batching operators that can output dynamic shape. Attempted "
            "to vmap over aten::{}. Please file an issue at "
            "https://github.com/pytorch/pytorch/issues if you need this feature.")
_NO_RULE = "Batching rule not implemented for aten::{}. We could not generate a fallback."
_MASK = ("vmap: Attempted to vmap over `mask` in torch.masked_select(self, mask) We cannot support "
         "this because for each batch this would return a differently shaped Tensor. Please file "
         "an issue at https://github.com/pytorch/pytorch/issues if you need this feature.")
_MASK_INDEX = ("vmap: We do not support batching operators that can support dynamic shape. "
               "Attempting to batch over indexing with a boolean mask.")
_CLOSE = ("vmap over torch.allclose isn't supported yet. Please file an issue at "
          "https://github.com/pytorch/pytorch/issues if you need this feature.")
#: Results whose shape depends on values, and single answers: `(level, values)` gives the message.
_REFUSED: dict[str, Callable[[Any, Values], str | None]] = {
    "nonzero": lambda level, values:
        _NO_RULE.format("nonzero_numpy") if values[1] else _DYNAMIC.format("nonzero"),
    "nonzero_tuple": lambda level, values: _MASK_INDEX,
    "unique": lambda level, values:
        _DYNAMIC.format("_unique2" if values[4] is None else "unique_dim"),
    "unique_consecutive": lambda level, values: _DYNAMIC.format("unique_consecutive"),
    "masked_select": lambda level, values: _MASK if level.owns(values[1]) else None,
    "equal": lambda level, values: _NO_RULE.format("equal"),
    "allclose": lambda level, values: _CLOSE,
}


_WRITE = ("vmap: inplace arithmetic(self, *extra_args) is not possible because there exists a "
          "Tensor `other` in extra_args that has more elements than `self`. This happened due to "
          "`other` being vmapped over but `self` not being vmapped over in a vmap. Please try to "
          "use out-of-place operators instead of inplace arithmetic. If said operator is being "
          "called inside the PyTorch framework, please file a bug report instead.")


def refuse(level: Any, record: Record, values: Values, target: Any) -> None:
    """Say that a record cannot be called on a batch, in PyTorch's words, where that is so."""
    if target is not None and not level.owns(target):
        raise unreadable(_WRITE)
    if record.kind == "multi":
        raise unreadable(_NO_RULE.format(names.of(record, False).partition("::")[2]))
    message = record.name in _REFUSED and _REFUSED[record.name](level, values)
    if message:
        raise unreadable(message)


__all__ = ["refuse"]
