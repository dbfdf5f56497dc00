"""`Variable`: the old name of a tensor that can require a gradient."""

from __future__ import annotations

from typing import Any

from ..base import absent
from ..core.tensor_base import TensorBase
from .engine import queue_callback


class VariableMeta(type):
    """Every tensor is a `Variable`."""

    def __instancecheck__(cls, other: Any) -> bool:
        return isinstance(other, TensorBase)


class _Engine:
    """What libraries ask of the engine by way of `Variable._execution_engine`."""

    queue_callback = staticmethod(queue_callback)


class Variable(metaclass=VariableMeta):
    """`Variable(tensor, requires_grad=True)` gives a tensor over the same memory."""

    _execution_engine = _Engine()

    def __new__(cls, data: Any, requires_grad: bool = False, volatile: bool = False) -> Any:
        made = data.detach()
        made.requires_grad = bool(requires_grad)
        return made


__all__ = ["Variable", "VariableMeta"]


__getattr__ = absent.names_of(__name__)
