"""Floating-point operations of the calls that PyTorch counts them for, by shapes alone."""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any

from ..core.tensor_base import TensorBase
from ..operators.record import Record


def _shape(value: Any) -> tuple[int, ...]:
    return tuple(value._spec.shape) if isinstance(value, TensorBase) else ()


def _product(a: Any, b: Any) -> int:
    """Of the last two dimensions, the others broadcast."""
    first, second = _shape(a), _shape(b)
    if not first or not second:
        return 0
    columns = second[-1] if len(second) > 1 else 1
    rows = first[-2] if len(first) > 1 else 1
    batch = max(prod(first[:-2]), prod(second[:-2]))
    return 2 * batch * rows * columns * first[-1]


def _either_way(values: tuple[Any, ...]) -> int:
    """A product whose factors may be transposed."""
    first, second = _shape(values[0]), _shape(values[1])
    rows, inner = first[-2:][::-1] if values[2] else first[-2:]
    columns = second[-2] if values[3] else second[-1]
    return 2 * prod(first[:-2]) * rows * inner * columns


def _folded(values: tuple[Any, ...]) -> int:
    """Of two batches of rows: the gradient of a weight."""
    return 2 * prod(_shape(values[0])) * _shape(values[1])[-1]


def _linear(values: tuple[Any, ...]) -> int:
    return 2 * prod(_shape(values[0])) * prod(_shape(values[1])[:-1])


def _convolution(values: tuple[Any, ...]) -> int:
    """Two for each weight at each place of the result."""
    given, weight = _shape(values[0]), _shape(values[1])
    dims = len(weight) - 2
    if len(given) < dims + 1 or not isinstance(values[4], (int, tuple, list)):
        return 0
    stride, padding, dilation = (v if isinstance(v, (tuple, list)) else (v,) * dims
                                 for v in (values[3], values[4], values[5]))
    places = 1
    for k in range(dims):
        reach = dilation[k % len(dilation)] * (weight[2 + k] - 1) + 1
        room = given[k - dims] + 2 * padding[k % len(padding)] - reach
        places *= room // stride[k % len(stride)] + 1
    batch = given[0] if len(given) == dims + 2 else 1
    return 2 * batch * places * prod(weight)


def _points(values: tuple[Any, ...]) -> int:
    return prod(_shape(values[0]))


_COUNTS: dict[str, Callable[[tuple[Any, ...]], int]] = {
    "mm": lambda v: _product(v[0], v[1]),
    "bmm": lambda v: _product(v[0], v[1]),
    "matmul": lambda v: _product(v[0], v[1]),
    "matrix_product": _either_way,
    "fold_product": _folded,
    "addmm": lambda v: _product(v[1], v[2]),
    "baddbmm": lambda v: _product(v[1], v[2]),
    "linear": _linear,
    "conv1d": _convolution, "conv2d": _convolution, "conv3d": _convolution,
    "add": _points, "mul": _points,
}


def of(record: Record, values: tuple[Any, ...]) -> int:
    """Operations of one call; 0 where they are not counted."""
    count = _COUNTS.get(record.name)
    return 0 if count is None else count(values)
