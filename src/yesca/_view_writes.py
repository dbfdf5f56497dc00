"""In-place views: `x.unsqueeze_(0)` makes x itself the view that `x.unsqueeze(0)` would be.

They count as writes, since what was computed from the tensor knows its old shape: the version goes
up, and PyTorch's rules for writes to leaves hold. The tape goes on as after the view itself.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .autograd.inplace import gradient_edge, move_retained
from .dispatch import inplace
from .dispatch.call import OPERATORS
from .dispatch.state import STATE


def become(target: Any, made: Any) -> Any:
    """The target takes over the place in memory and on the tape of a view of itself."""
    if STATE.tape and made._node is not None and made._node is not target._node:
        extra = target._extra
        if extra is not None and extra.retain and target._node is not None:
            move_retained(target, made._node, made._output_nr)
        target._node, target._output_nr = made._node, made._output_nr
        target._requires_grad = made._requires_grad
    target._storage, target._spec, target._offset = made._storage, made._spec, made._offset
    for level in STATE.levels:
        level.became(target, made)
    inplace.bump(target)
    if target._extra is not None and target._counter is not None:
        target._extra.seen = target._counter.value
    return target


def _written(target: Any, node: str, view: Callable[[], Any]) -> Any:
    """The target as a view of itself; `node`: what PyTorch calls this on the tape."""
    inplace.check_captured(target, _NAMES[node])
    inplace.check_tape(target, STATE.tape, False)
    if target.requires_grad:
        gradient_edge(target)  # settles a view whose base was written since
    made = view()
    if made._node is not None and made._node is not target._node:
        made._node.extra.label = node
    return target._become(made)


def _unsqueeze_(self: Any, dim: int) -> Any:
    """A new dimension of size 1, in place."""
    return _written(self, "UnsqueezeBackward1", lambda: OPERATORS.unsqueeze(self, dim))


def _squeeze_(self: Any, dim: Any = None) -> Any:
    """Dimensions of size 1 (all, or those given) dropped, in place."""
    overload = 3 if dim is None else 4 if isinstance(dim, int) else 5
    return _written(self, f"SqueezeBackward{overload}", lambda: OPERATORS.squeeze(self, dim))


def _transpose_(self: Any, dim0: int, dim1: int) -> Any:
    """Two dimensions swapped, in place."""
    return _written(self, "TransposeBackward1", lambda: OPERATORS.transpose(self, dim0, dim1))


def _swapaxes_(self: Any, axis0: int, axis1: int) -> Any:
    """Two dimensions swapped, in place."""
    return _transpose_(self, axis0, axis1)


def _swapdims_(self: Any, dim0: int, dim1: int) -> Any:
    """Two dimensions swapped, in place."""
    return _transpose_(self, dim0, dim1)


def _t_(self: Any) -> Any:
    """A matrix transposed, in place."""
    return _written(self, "TBackward1", lambda: OPERATORS.t(self))


def as_strided_(self: Any, size: Any, stride: Any, storage_offset: int | None = None) -> Any:
    """Other sizes, strides and offset over the same storage, in place."""
    return _written(self, "AsStridedBackward1",
                    lambda: OPERATORS.as_strided(self, size, stride, storage_offset))


_NAMES = {"UnsqueezeBackward1": "unsqueeze_", "SqueezeBackward3": "squeeze_",
          "SqueezeBackward4": "squeeze_.dim", "SqueezeBackward5": "squeeze_.dims",
          "TransposeBackward1": "transpose_", "TBackward1": "t_",
          "AsStridedBackward1": "as_strided_"}
METHODS = {f.__name__.removeprefix("_"): f for f in (
    _unsqueeze_, _squeeze_, _transpose_, _swapaxes_, _swapdims_, _t_)}


def install(cls: Any) -> None:
    """Put the methods on the tensor's class."""
    for name, function in METHODS.items():
        function.__name__ = function.__qualname__ = name
        setattr(cls, name, function)
    cls.as_strided_ = as_strided_
    cls._become = become


__all__ = ["as_strided_", "become", "install"]
