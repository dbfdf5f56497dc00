"""Padding layers: sizes before and after, last dimension first, or one number for all."""

from __future__ import annotations

from typing import Any

from ..._tensor import Tensor
from .. import functional as F
from ._names import to_tuple
from .module import Module

__all__ = [
    f"{kind}Pad{rank}d"
    for kind in ("Circular", "Constant", "Reflection", "Replication", "Zero")
    for rank in (1, 2, 3)
]


class _PadNd(Module):
    """Pads the last `_rank` dimensions in the way the subclass states."""

    __constants__ = ["padding"]
    _rank: int
    _mode: str
    padding: tuple[int, ...]

    def __init__(self, padding: Any) -> None:
        super().__init__()
        self.padding = to_tuple(padding, 2 * self._rank)

    def forward(self, input: Tensor) -> Tensor:
        return F.pad(input, self.padding, self._mode)

    def extra_repr(self) -> str:
        return f"{self.padding}"


class _CircularPadNd(_PadNd):
    _mode = "circular"

    def forward(self, input: Tensor) -> Tensor:
        rank = self._rank
        if input.dim() not in (rank + 1, rank + 2):
            raise ValueError(
                f"expected {rank + 1}D or {rank + 2}D input (got {input.dim()}D input)"
            )
        return super().forward(input)


class CircularPad1d(_CircularPadNd):
    """Goes on with the values of the other end: (N, C, L) or (C, L)."""

    _rank = 1


class CircularPad2d(_CircularPadNd):
    """Goes on with the values of the other end: (N, C, H, W) or (C, H, W)."""

    _rank = 2


class CircularPad3d(_CircularPadNd):
    """Goes on with the values of the other end: (N, C, D, H, W) or (C, D, H, W)."""

    _rank = 3


class _ConstantPadNd(_PadNd):
    __constants__ = ["padding", "value"]
    _mode = "constant"
    value: float

    def __init__(self, padding: Any, value: float) -> None:
        super().__init__(padding)
        self.value = value

    def forward(self, input: Tensor) -> Tensor:
        return F.pad(input, self.padding, "constant", self.value)

    def extra_repr(self) -> str:
        return f"padding={self.padding}, value={self.value}"


class ConstantPad1d(_ConstantPadNd):
    """Fills with `value` at the ends of the last dimension."""

    _rank = 1


class ConstantPad2d(_ConstantPadNd):
    """Fills with `value` around the last 2 dimensions."""

    _rank = 2


class ConstantPad3d(_ConstantPadNd):
    """Fills with `value` around the last 3 dimensions."""

    _rank = 3


class _ReflectionPadNd(_PadNd):
    _mode = "reflect"


class ReflectionPad1d(_ReflectionPadNd):
    """Mirrors at the edge, which is not repeated: (N, C, L) or (C, L)."""

    _rank = 1


class ReflectionPad2d(_ReflectionPadNd):
    """Mirrors at the edge, which is not repeated: (N, C, H, W) or (C, H, W)."""

    _rank = 2


class ReflectionPad3d(_ReflectionPadNd):
    """Mirrors at the edge, which is not repeated: (N, C, D, H, W) or (C, D, H, W)."""

    _rank = 3


class _ReplicationPadNd(_PadNd):
    _mode = "replicate"


class ReplicationPad1d(_ReplicationPadNd):
    """Repeats the edge: (N, C, L) or (C, L)."""

    _rank = 1


class ReplicationPad2d(_ReplicationPadNd):
    """Repeats the edge: (N, C, H, W) or (C, H, W)."""

    _rank = 2


class ReplicationPad3d(_ReplicationPadNd):
    """Repeats the edge: (N, C, D, H, W) or (C, D, H, W)."""

    _rank = 3


class ZeroPad1d(ConstantPad1d):
    """Fills with zeros at the ends of the last dimension."""

    def __init__(self, padding: Any) -> None:
        super().__init__(padding, 0.0)

    def extra_repr(self) -> str:
        return f"{self.padding}"


class ZeroPad2d(ConstantPad2d):
    """Fills with zeros around the last 2 dimensions."""

    def __init__(self, padding: Any) -> None:
        super().__init__(padding, 0.0)

    def extra_repr(self) -> str:
        return f"{self.padding}"


class ZeroPad3d(ConstantPad3d):
    """Fills with zeros around the last 3 dimensions."""

    def __init__(self, padding: Any) -> None:
        super().__init__(padding, 0.0)

    def extra_repr(self) -> str:
        return f"{self.padding}"
