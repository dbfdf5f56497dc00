"""Resampling of images with smoothing: bilinear, bicubic and Lanczos filters.

An output element is the mean of a *span* of input elements, weighted by a filter that is as wide
as the step between two outputs, if these lie further apart than inputs. The dimensions come one
after the other. A gradient goes back by rows as well: each input element lies in the spans of a
few outputs, one behind the other.
"""

# Names: _upsample_bilinear2d_aa _upsample_bicubic2d_aa _upsample_lanczos2d_aa

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from ..core.dtypes import FLOATING, DType, float32, float64, int64, uint8
from ..core.memory_formats import following
from ..core.spec import spec
from ..loops.ir import Expr, cast, const, coord, fold, load
from ..loops.scalar import absolute, floor, maximum, minimum, sin, trunc, where
from . import spans
from .kinds import composite, rows
from .resampling import Axis, Sizes, check_sizes, cubic, result_size, static_factors

_SHORT = 16  # spans of so few elements are summed without a loop
_SOFT = -0.5  # the free parameter of the cubic where it smooths


def _triangle(x: Expr) -> Expr:
    return maximum(1.0 - x, 0.0)


def _soft_cubic(x: Expr) -> Expr:
    return where(x < 2.0, cubic(x, _SOFT), 0.0)


def _sinc(x: Expr) -> Expr:
    turned = where(x.eq(0.0), 1.0, x * math.pi)
    return where(x.eq(0.0), 1.0, sin(turned) / turned)


def _lanczos(x: Expr) -> Expr:
    return where(x < 3.0, _sinc(x) * _sinc(x / 3.0), 0.0)


#: Filters as functions of a distance, and up to which distance they reach.
FILTERS: dict[str, tuple[Callable[[Expr], Expr], int]] = {
    "linear": (_triangle, 1), "cubic": (_soft_cubic, 2), "lanczos": (_lanczos, 3)}


@dataclass
class Spans:
    """The spans along one dimension, as tables with one entry (or row) for each output index.

    A row of weights begins at `first`, so that it stays inside the input; those outside the span
    from `low` to `end` are 0.
    """

    p: Any
    axis: Axis
    wide: DType

    @cached_property
    def support(self) -> float:
        return FILTERS[self.axis.mode][1] * max(self.axis.scale(), 1.0)

    @cached_property
    def reach(self) -> int:
        return min(math.ceil(self.support) * 2 + 1, self.axis.size)

    def _centre(self, index: Expr) -> Expr:
        return (cast(index, self.wide) + 0.5) * self.p.fixed(self.axis.scale(), self.wide)

    def _low(self, index: Expr) -> Expr:
        start = self._centre(index) - self.p.fixed(self.support, self.wide) + 0.5
        return cast(floor(maximum(start, 0.0)), int64)

    def _end(self, index: Expr) -> Expr:
        end = cast(floor(self._centre(index) + self.p.fixed(self.support, self.wide) + 0.5), int64)
        return minimum(minimum(end, self.p.fixed(self.axis.size, int64)),
                       self._low(index) + self.p.fixed(math.ceil(self.support) * 2 + 1, int64))

    def _first(self, index: Expr) -> Expr:
        return minimum(self._low(index), self.p.fixed(self.axis.size - self.reach, int64))

    @cached_property
    def firsts(self) -> Any:
        return spans.table(self.p, self.axis.result, self._first)

    @cached_property
    def lows(self) -> Any:
        return spans.table(self.p, self.axis.result, self._low)

    @cached_property
    def ends(self) -> Any:
        return spans.table(self.p, self.axis.result, self._end)

    @cached_property
    def weights(self) -> Any:
        """(result, reach); the sum of a row is 1."""
        p, count, reach = self.p, self.axis.result, self.reach
        made = p.temporary((count, reach), self.wide)

        def body() -> Expr:
            raw = self._raw(coord("point"), coord("inner"))
            total = fold("sum", raw)
            return raw / where(total.eq(0.0), 1.0, total)

        p.rows(body, [], [made], (count,), reach)
        return made

    def _raw(self, index: Expr, tap: Expr) -> Expr:
        place = self._first(index) + tap
        narrow = self.p.fixed(1.0 / max(self.axis.scale(), 1.0), self.wide)
        distance = absolute((cast(place, self.wide) - self._centre(index) + 0.5) * narrow)
        inside = (place >= self._low(index)) & (place < self._end(index))
        return where(inside, FILTERS[self.axis.mode][0](distance), const(0, self.wide))


def _along(x: Any, dim: int, count: int, inner: int, step: int) -> Any:
    """x with `count` places along one dimension, none of which moves, and an inner axis."""
    shape, steps = list(x.spec.shape), list(x.spec.strides)
    shape[dim], steps[dim] = count, 0
    return x.seen(((*shape, inner), (*steps, step), 0))


def _rows_of(table: Any, ndim: int, dim: int, inner: int, step: int) -> Any:
    """A table's row for each place along one dimension, as an inner axis."""
    shape, steps = [1] * (ndim + 1), [0] * (ndim + 1)
    shape[dim], steps[dim] = table.spec.shape[0], table.spec.strides[0]
    shape[-1], steps[-1] = inner, step
    return table.seen((tuple(shape), tuple(steps), 0))


def _smooth(p: Any, x: Any, dim: int, own: Spans, out: Any,
            finish: Callable[[Expr], Expr], weights: Any) -> None:
    """out = finish(weighted sums of the spans along one dimension)."""
    if own.reach <= _SHORT:
        _smooth_shortly(p, x, dim, own, out, finish, weights)
        return
    step, ndim = x.spec.strides[dim], x.spec.ndim
    tables = [spans.along(t, ndim, dim).as_rows() for t in (own.firsts, own.lows, own.ends)]

    def body(_: Expr, weight: Expr, first: Expr, low: Expr, end: Expr) -> Expr:
        place = first + coord("inner")
        value = cast(load(0, x.spec.dtype, first * p.fixed(step, int64)), own.wide)
        inside = (place >= low) & (place < end)
        return finish(fold("sum", where(inside, value * weight, const(0, own.wide))))

    p.rows(body, [_along(x, dim, own.axis.result, own.reach, step),
                  _rows_of(weights, ndim, dim, own.reach, 1), *tables],
           [out.as_rows()], tuple(out.spec.shape), own.reach)


def _smooth_shortly(p: Any, x: Any, dim: int, own: Spans, out: Any,
                    finish: Callable[[Expr], Expr], weights: Any) -> None:
    """`_smooth` with the sum of a span written out: many outputs are made at once."""
    step, ndim = x.spec.strides[dim], x.spec.ndim
    shape = tuple(out.spec.shape)

    def seen(table: Any, stride: int) -> Any:
        return table.seen((shape, tuple(stride if d == dim else 0 for d in range(ndim)), 0))

    def body(_: Expr, __: Expr, first: Expr) -> Expr:
        total, start = const(0, own.wide), first * p.fixed(step, int64)
        for tap in range(own.reach):  # elements outside the span count nothing, whatever they are
            offset = start + p.fixed(tap * step, int64)
            value = cast(load(0, x.spec.dtype, offset), own.wide)
            weight = load(1, own.wide, const(tap, int64))
            total = total + where(weight.eq(0.0), const(0, own.wide), value) * weight
        return finish(total)

    still = tuple(0 if d == dim else s for d, s in enumerate(x.spec.strides))
    p.flat(body, [x.seen((shape, still, 0)), seen(weights, own.reach), seen(own.firsts, 1)], [out])


def _put_back(p: Any, y: Any, dim: int, own: Spans, out: Any) -> None:
    """out = the gradients of the spans' elements along one dimension."""
    step, ndim, scale, count = y.spec.strides[dim], y.spec.ndim, own.axis.scale(), own.axis.result
    reach = min(count, math.ceil(2 * own.support / scale) + 4) if scale else count

    def first_of(index: Expr) -> Expr:
        """The first output whose span may hold an input element: one too early does no harm."""
        if reach == count:
            return const(0, int64)
        start = (cast(index, float64) + 0.5 - own.support) / scale - 2.5
        return minimum(cast(floor(maximum(start, 0.0)), int64), p.fixed(count - reach, int64))

    firsts = spans.table(p, own.axis.size, first_of)
    places = spans.table(p, own.axis.size, lambda index: index)
    vectors = [t.seen(((*(1,) * ndim, reach), (*(0,) * ndim, 1), 0))
               for t in (own.firsts, own.lows, own.ends)]
    table = own.weights.seen(((1,) * ndim, (0,) * ndim, 0))

    def body(_: Expr, first: Expr, place: Expr, *__: Expr) -> Expr:
        start, low, end = (load(3 + k, int64, first) for k in range(3))
        tap = minimum(maximum(place - start, const(0, int64)), p.fixed(own.reach - 1, int64))
        row = (first + coord("inner")) * p.fixed(own.reach, int64)
        weight = load(6, own.wide, row + tap)
        value = cast(load(0, y.spec.dtype, first * p.fixed(step, int64)), own.wide)
        return fold("sum", where((place >= low) & (place < end), value * weight,
                                 const(0, own.wide)))

    p.rows(body, [_along(y, dim, own.axis.size, reach, step),
                  spans.along(firsts, ndim, dim).as_rows(),
                  spans.along(places, ndim, dim).as_rows(), *vectors, table.as_rows()],
           [out.as_rows()], tuple(out.spec.shape), reach)


def _axes(p: Any, size: Sizes, result: Sizes, mode: str, corners: bool, factors: Any, wide: DType
          ) -> list[Spans]:
    given = factors or (None,) * len(result)
    return [Spans(p, Axis(n, m, mode, corners, f), wide)
            for n, m, f in zip(size, result, given, strict=True)]


def _check(p: Any, dtype: DType, known: tuple[DType, ...]) -> None:
    if dtype not in known:
        raise NotImplementedError('"compute_index_ranges_weights" not implemented for '
                                  f"'{p.scalar_name(dtype)}'")


def _program(p: Any, self: Any, result: Sizes, mode: str, corners: bool, factors: Any) -> None:
    dtype, shape = self.spec.dtype, tuple(self.spec.shape)
    check_sizes(self, result)
    _check(p, dtype, (float32, float64, uint8))
    whole = (*shape[:2], *result)
    made = p.result(spec(dtype, whole, following(self.spec, whole), p.device))
    if made.spec.numel == 0:
        return
    wide = dtype if dtype.category == FLOATING else float64
    axes = _axes(p, shape[2:], result, mode, corners, factors, wide)
    for k in reversed(range(len(axes))):  # the last dimension first, as in PyTorch
        dim = 2 + k
        part = (*self.spec.shape[:dim], result[k], *self.spec.shape[dim + 1:])
        out = made if k == 0 else p.temporary(part, dtype)
        if dtype is uint8:
            _smooth_bytes(p, self, dim, axes[k], out)
        else:
            _smooth(p, self, dim, axes[k], out, lambda total: total, axes[k].weights)
        self = out


def _smooth_bytes(p: Any, x: Any, dim: int, own: Spans, out: Any) -> None:
    """As in PyTorch, weights are numbers of 16 bits: the largest of them says of which unit."""
    largest, unit = p.temporary((), float64), p.temporary((), float64)
    p.reduce("max", lambda w: w, lambda m: m, own.weights, (0, 1), largest)

    def finest(most: Expr) -> Expr:
        found = const(2.0**22, float64)
        for bits in reversed(range(22)):
            found = where(most * 2.0**(bits + 1) + 0.5 >= 2.0**15, const(2.0**bits, float64), found)
        return found

    p.flat(finest, [largest], [unit])
    whole = p.temporary(own.weights.spec.shape, float64)
    p.flat(lambda w, u: trunc(w * u + where(w < 0.0, const(-0.5, float64), 0.5)) / u,
           [own.weights, unit.seen((own.weights.spec.shape, (0, 0), 0))], [whole])
    _smooth(p, x, dim, own, out, lambda total: cast(
        minimum(maximum(floor(total + 0.5), 0.0), 255.0), uint8), whole)


def _backward(p: Any, grad_output: Any, shape: Sizes, mode: str, corners: bool, factors: Any
              ) -> None:
    dtype, result = grad_output.spec.dtype, tuple(grad_output.spec.shape[2:])
    _check(p, dtype, (float32, float64))
    made = p.result(spec(dtype, shape, following(grad_output.spec, shape), p.device))
    if made.spec.numel == 0:
        return
    axes = _axes(p, shape[2:], result, mode, corners, factors, dtype)
    for k, own in enumerate(axes):
        dim = 2 + k
        part = (*grad_output.spec.shape[:dim], shape[dim], *grad_output.spec.shape[dim + 1:])
        out = made if k == len(axes) - 1 else p.temporary(part, dtype)
        _put_back(p, grad_output, dim, own, out)
        grad_output = out


_OPTIONS = "str mode, bool corners, any factors"
_NAMES = {"linear": "bilinear", "cubic": "bicubic", "lanczos": "lanczos"}

rows(f"resample_smooth_backward(Tensor grad_output, any shape, {_OPTIONS}) -> Tensor", _backward,
     method=False,
     backward={"grad_output": lambda ops, grad, grad_output_spec, mode, corners, factors:
               ops.resample_smooth(grad, tuple(grad_output_spec.shape)[2:], mode, corners,
                                   factors)})
rows(f"resample_smooth(Tensor self, any size, {_OPTIONS}) -> Tensor", _program, method=False,
     kernel="compute_index_ranges_weights",
     node_name=lambda plan: f"Upsample{_NAMES[plan.values[2]].capitalize()}2DAaBackward0",
     backward={"self": lambda ops, grad, self_spec, mode, corners, factors:
               ops.resample_smooth_backward(grad, tuple(self_spec.shape), mode, corners, factors)})


def _public(mode: str) -> Any:
    def body(ops: Any, self: Any, output_size: Any, align_corners: bool, factors: Any) -> Any:
        size = result_size(tuple(self.shape), output_size, factors)
        return ops.resample_smooth(self, size, mode, bool(align_corners), static_factors(factors))

    return body


for _mode, _name in _NAMES.items():
    composite(f"_upsample_{_name}2d_aa(Tensor self, any? output_size=None, bool align_corners="
              "False, any? scale_factors=None) -> Tensor", _public(_mode), method=False,
              doc="A weighted mean of the elements around, of more of them where there are many.")
