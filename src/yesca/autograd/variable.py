"""`Variable`: the old name of a tensor that can require a gradient."""

from __future__ import annotations

from typing import Any

from ..base import absent
from ..core.tensor_base import TensorBase


class _VariableMeta(type):
    def __instancecheck__(cls, other: Any) -> bool:
        return isinstance(other, TensorBase)


class Variable(metaclass=_VariableMeta):
    """`Variable(tensor, requires_grad=True)` gives a tensor over the same memory."""

    def __new__(cls, data: Any, requires_grad: bool = False, volatile: bool = False) -> Any:
        made = data.detach()
        return made.requires_grad_() if requires_grad else made


__all__ = ["Variable"]


__getattr__ = absent.names_of(__name__)
