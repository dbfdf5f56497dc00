"""The larger and the smaller of two, and clamping."""

from __future__ import annotations

from typing import Any

from ..core.dtypes import DType, bool_
from ..loops.ir import Expr
from ..loops.scalar import isnan, maximum, minimum, where
from .arithmetic import is_floating
from .kinds import composite, elementwise


def _half_ties(beats: str) -> Any:
    def of(grad: Expr, mine: Expr, other: Expr) -> Expr:
        wins = mine > other if beats == "gt" else mine < other
        return where(mine.eq(other), grad * 0.5, where(wins | isnan(mine), grad, 0.0))
    return of


_larger, _smaller = _half_ties("gt"), _half_ties("lt")
maximum_ = elementwise(
    "maximum(Tensor self, Tensor other) -> Tensor", maximum, inplace=False, numbers=(),
    backward={"self": lambda grad, self, other: _larger(grad, self, other),
              "other": lambda grad, self, other: _larger(grad, other, self)},
    doc="The larger of two; a NaN wins.")
minimum_ = elementwise(
    "minimum(Tensor self, Tensor other) -> Tensor", minimum, inplace=False, numbers=(),
    backward={"self": lambda grad, self, other: _smaller(grad, self, other),
              "other": lambda grad, self, other: _smaller(grad, other, self)},
    doc="The smaller of two; a NaN wins.")
fmax = elementwise(
    "fmax(Tensor self, Tensor other) -> Tensor",
    lambda x, y: where(isnan(x), y, where(isnan(y), x, maximum(x, y))) if is_floating(x)
    else maximum(x, y), inplace=False, numbers=(),
    backward={"self": lambda grad, self, other: where((self >= other) | isnan(other), grad, 0.0),
              "other": lambda grad, self, other: where((self >= other) | isnan(other), 0.0, grad)},
    doc="The larger of two; a number wins over NaN.")
fmin = elementwise(
    "fmin(Tensor self, Tensor other) -> Tensor",
    lambda x, y: where(isnan(x), y, where(isnan(y), x, minimum(x, y))) if is_floating(x)
    else minimum(x, y), inplace=False, numbers=(),
    backward={"self": lambda grad, self, other: where((self <= other) | isnan(other), grad, 0.0),
              "other": lambda grad, self, other: where((self <= other) | isnan(other), 0.0, grad)},
    doc="The smaller of two; a number wins over NaN.")


def _clamped(x: Expr, low: Any, high: Any) -> Expr:
    if low is None and high is None:
        raise RuntimeError("torch.clamp: At least one of 'min' or 'max' must not be None")
    if low is not None:
        x = where(x < low, low, x)
        x = where(isnan(low), low, x) if is_floating(x) else x
    if high is not None:
        x = where(x > high, high, x)
        x = where(isnan(high), high, x) if is_floating(x) else x
    return x


def _inside(self: Expr, low: Any, high: Any) -> Expr | None:
    held = None
    if low is not None:
        held = self >= low
    if high is not None:
        held = (self <= high) if held is None else held & (self <= high)
    return held


def _clamp_rule(promoted: DType, values: tuple[Any, ...]) -> tuple[DType, DType]:
    if promoted is bool_ and None not in values:
        raise NotImplementedError('"clamp_cpu" not implemented for \'Bool\'')
    return promoted, promoted


clamp = elementwise(
    "clamp(Tensor self, Tensor? min=None, Tensor? max=None) -> Tensor", _clamped,
    numbers=("min", "max"), dtype=_clamp_rule, takes="bif", kernel="clamp_scalar_cpu",
    no_complex="clamp is not supported for complex types",
    samples=lambda make: [(make(3, 4), -1, 1), (make(3, 4), None, 1), (make(3), make(3)),
                          (make(2, 3), make(3, high=0), make(2, 1, low=0)), (make(0, 2), 1)],
    aliases=("clip",),
    backward={"self": lambda grad, self, min, max: where(_inside(self, min, max), grad, 0.0),
              "min": lambda grad, self, min, max: where(
                  self < min if max is None else (self < min) & (min < max), grad, 0.0),
              "max": lambda grad, self, min, max: where(
                  self > max if min is None else (self > max) | (max < min), grad, 0.0)},
    doc="Limited to [min, max]; NaN stays.")
clamp_min = composite("clamp_min(Tensor self, Tensor min) -> Tensor",
                      lambda ops, self, min: ops.clamp(self, min), inplace=True,
                      samples=lambda make: [(make(3, 4), 0), (make(3), make(3))])
clamp_max = composite("clamp_max(Tensor self, Tensor max) -> Tensor",
                      lambda ops, self, max: ops.clamp(self, None, max), inplace=True,
                      samples=lambda make: [(make(3, 4), 0), (make(3), make(3))])
