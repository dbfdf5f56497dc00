"""Pools: the maximum or the mean of windows, of a fixed size or dividing the input in parts."""

# Names: avg_pool1d avg_pool2d avg_pool3d max_pool1d max_pool1d_with_indices max_pool2d
# Names: max_pool2d_with_indices max_pool3d max_pool3d_with_indices

from __future__ import annotations

import math
from typing import Any

from ..core.dtypes import FLOATING, bool_, int32, int64
from ..core.memory_formats import image
from ..core.spec import contiguous_strides, spec
from ..loops.ir import Expr, cast, const, fold, load
from ..loops.scalar import idiv, isnan, maximum, where
from . import spans
from .kinds import composite, compute_dtype, rows

MOST_LOADS = 9  # window elements that one stage reads; larger windows go by dimensions

Sizes = tuple[int, ...]


# ---- checks ----------------------------------------------------------------------------------

def _check(name: str, shape: Sizes, rank: int, kernel: Sizes, stride: Sizes, padding: Sizes,
           dilation: Sizes) -> None:
    if len(shape) not in (rank + 1, rank + 2) or any(n == 0 for n in shape[-rank - 1:]):
        raise RuntimeError(
            f"Expected {rank + 1}D or {rank + 2}D (batch mode) tensor with optional 0 dim batch "
            f"size for input, but got:{list(shape)} in {name}")
    if any(n <= 0 for n in kernel):
        raise RuntimeError(f"kernel size should be greater than zero, but got {list(kernel)}")
    if any(n <= 0 for n in stride):
        raise RuntimeError(f"stride should not be zero: {list(stride)}; it must be positive")
    if any(n <= 0 for n in dilation):
        raise RuntimeError(f"dilation should be greater than zero, but got {list(dilation)}")
    for k, q, d in zip(kernel, padding, dilation, strict=True):
        if q < 0:
            raise RuntimeError(f"pad must be non-negative, but got pad: {q}")
        if q > (d * (k - 1) + 1) // 2:
            raise RuntimeError("pad should be at most half of effective kernel size, but got "
                               f"pad={q}, kernel_size={k} and dilation={d}")


def _result_size(shape: Sizes, rank: int, kernel: Sizes, stride: Sizes, padding: Sizes,
                 dilation: Sizes, ceil_mode: bool) -> Sizes:
    made = tuple(spans.pooled_size(n, k, s, q, d, ceil_mode) for n, k, s, q, d in
                 zip(shape[-rank:], kernel, stride, padding, dilation, strict=True))
    if any(n < 1 for n in made):
        sizes = "x".join(str(n) for n in shape[-rank - 1:])
        outs = "x".join(str(n) for n in (shape[-rank - 1], *made))
        raise RuntimeError(f"Given input size: ({sizes}). Calculated output size: ({outs}). "
                           "Output size is too small")
    return made


def _extents(shape: Sizes, result: Sizes, kernel: Sizes, stride: Sizes, padding: Sizes,
             dilation: Sizes) -> Sizes:
    """The padded sizes: up to the last element that a window reads."""
    rank = len(result)
    return tuple(max((m - 1) * s + d * (k - 1) + 1, n + q) for m, s, d, k, n, q in
                 zip(result, stride, dilation, kernel, shape[-rank:], padding, strict=True))


# ---- max_pool --------------------------------------------------------------------------------

def _is_left_out(stride: Any) -> bool:
    """Whether windows are as far apart as they are wide."""
    return stride is None or isinstance(stride, tuple | list) and not stride


def _max_pool(p: Any, self: Any, kernel: Sizes, stride: Sizes, padding: Sizes, dilation: Sizes,
              ceil_mode: bool, indices: bool) -> None:
    rank, shape, dtype = len(kernel), tuple(self.spec.shape), self.spec.dtype
    _check(f"max_pool{rank}d", shape, rank, kernel, stride, padding, dilation)
    if dtype is bool_:
        raise NotImplementedError(f'"max_pool{rank}d" not implemented for \'Bool\'')
    result = _result_size(shape, rank, kernel, stride, padding, dilation, ceil_mode)
    lead = shape[:-rank]
    whole = (*lead, *result)
    strides = image(self.spec, whole, rank) if rank > 1 else None
    made = p.result(spec(dtype, whole, strides, p.device))
    places = p.result(spec(int64, whole, strides, p.device) if indices else
                      spec(int64, (0,), None, p.device))
    if made.spec.numel == 0:
        return
    extents = _extents(shape, result, kernel, stride, padding, dilation)
    x = spans.padded(p, self, padding, extents, spans.lowest(dtype))
    if math.prod(kernel) > MOST_LOADS:
        _by_dimensions(p, x, shape, kernel, stride, padding, dilation,
                       [made, places] if indices else [made])
        return
    source = spans.stepped(x, result, stride, (0,) * rank)
    steps = [tuple(a * d for a, d in zip(k, dilation, strict=True))
             for k in spans.positions(kernel)]
    if not indices:
        p.flat(lambda _: _largest(p, x, steps), [source], [made])
        return
    begin = spans.flat_place(p, shape[-rank:], result, stride, padding)
    first = begin if not any(padding) else spans.flat_place(
        p, shape[-rank:], result, stride, padding, dilation)
    unit = contiguous_strides(shape[-rank:])
    p.flat(lambda _, begin, first: _largest_place(p, x, steps, unit, begin, first),
           [source, begin, first], [made, places])


def _largest(p: Any, x: Any, steps: list[Sizes]) -> Expr:
    best = spans.at(0, x, p, steps[0])
    for place in steps[1:]:
        best = maximum(best, spans.at(0, x, p, place))
    return best


def _largest_place(p: Any, x: Any, steps: list[Sizes], unit: Sizes, begin: Expr, first: Expr
                   ) -> tuple[Expr, Expr]:
    """The largest value and its place: the first of equal ones, a NaN before all."""
    dtype = x.spec.dtype
    best, found = const(spans.lowest(dtype), dtype), cast(first - begin, int32)
    for place in steps:
        value = spans.at(0, x, p, place)
        better = value > best
        if dtype.category == FLOATING:
            better = better | isnan(value)
        step = sum(a * u for a, u in zip(place, unit, strict=True))
        best = where(better, value, best)
        found = where(better, p.fixed(step, int32), found)
    return best, begin + cast(found, int64)


def _by_dimensions(p: Any, x: Any, shape: Sizes, kernel: Sizes, stride: Sizes, padding: Sizes,
                   dilation: Sizes, outs: list[Any]) -> None:
    """The largest of the largest, one dimension after the other, innermost first."""
    rank, ndim = len(kernel), len(shape)
    result = outs[0].spec.shape[-rank:]
    unit = contiguous_strides(shape[-rank:])
    value, found = x, None
    for d in reversed(range(rank)):
        dim = ndim - rank + d
        made = [*value.spec.shape]
        made[dim] = result[d]
        goals = outs if d == 0 else [p.temporary(made, t.spec.dtype) for t in outs]
        steps, own = list(value.spec.strides), value.spec.strides[dim]
        steps[dim] = own * stride[d]
        rows_ = [value.seen(((*made, kernel[d]), (*steps, own * dilation[d]), 0))]
        if len(outs) == 2:
            rows_.append(spans.along(spans.window_starts(p, result[d], stride[d]), ndim,
                                     dim).as_rows())
            if found is not None:
                steps = list(found.spec.strides)
                steps[dim] = 0
                rows_.append(found.seen((tuple(made), tuple(steps), 0)).as_rows())
        p.rows(_winners(p, d, unit[d], padding, dilation, found, dim, len(outs) == 2), rows_,
               [g.as_rows() for g in goals], made, kernel[d])
        value, found = goals[0], goals[-1] if len(outs) == 2 else None


def _winners(p: Any, d: int, unit: int, padding: Sizes, dilation: Sizes, found: Any, dim: int,
             places: bool) -> Any:
    """The body of one dimension's stage: the largest value and, if asked for, its flat place."""
    def body(v: Expr, *loads: Expr) -> Any:
        wide = cast(v, compute_dtype(v.dtype))
        if not places:
            return fold("max", wide)
        start, apart = loads[0], p.fixed(dilation[d], int64)
        padded = p.fixed(padding[d], int64)
        missing = maximum(padded - start, const(0, int64))
        first = start + idiv(missing + apart - 1, apart) * apart  # what is not padding
        place = maximum(start + fold("argmax", wide) * apart, first)
        flat = (place - padded) * p.fixed(unit, int64)
        if found is not None:
            own = p.fixed(found.spec.strides[dim], int64)
            flat = flat + load(2, int64, place * own)
        return fold("max", wide), flat

    return body


def _max_pool_backward(p: Any, grad_output: Any, indices: Any, shape: Sizes, strides: Sizes,
                       rank: int) -> None:
    """Every gradient to the place that its window's maximum came from; rows in order."""
    dtype = grad_output.spec.dtype
    made = p.result(spec(dtype, shape, strides, p.device))
    if made.spec.numel == 0:
        return
    wide = compute_dtype(dtype)
    total = made if wide is dtype else p.temporary(shape, wide)
    p.flat(lambda: const(0, wide), [], [total])
    if grad_output.spec.numel:
        lead = shape[:-rank]
        g, size = p.joined(grad_output, rank)
        places, _ = p.joined(indices, rank)
        into = total.seen((lead, total.spec.strides[:len(lead)], 0)).as_rows()
        step = total.spec.strides[-1]  # places count pixels, in any format
        p.rows(lambda v, at: p.store(cast(v, wide), at * p.fixed(step, int64), accumulate="sum"),
               [g, places], [into], lead, size)
    if total is not made:
        p.flat(lambda v: v, [total], [made])


def _at_maxima(ops: Any, grad: Any, indices: Any, rank: int) -> Any:
    """The values at the maxima's places: the pool of another tensor by the same choice."""
    shape = tuple(indices.shape)
    lead = shape[:-rank]
    flat = ops.reshape(grad, (*lead, -1))
    picked = ops.gather(flat, len(lead), ops.reshape(indices, (*lead, -1)))
    return ops.reshape(picked, shape)


rows("max_pool_backward(Tensor grad_output, Tensor indices, any shape, any strides, int rank) -> "
     "Tensor", _max_pool_backward, method=False,
     backward={"grad_output": lambda ops, grad, indices, rank: _at_maxima(
         ops, grad, indices, rank)})


def _rank_of(plan: Any) -> int:
    return len(plan.values[1])


rows("max_pool(Tensor self, any kernel, any stride, any padding, any dilation, bool ceil_mode, "
     "bool indices) -> (Tensor, Tensor)", _max_pool, method=False, carriers=1,
     node_name=lambda plan: f"MaxPool{_rank_of(plan)}DWithIndicesBackward0",
     backward={"self": lambda ops, grad, result1, self_spec, kernel: ops.max_pool_backward(
         grad, result1, *spans.place(self_spec, len(kernel)), len(kernel))})


def _public_max(rank: int, indices: bool) -> Any:
    name = f"max_pool{rank}d"

    def body(ops: Any, self: Any, kernel_size: Any, stride: Any, padding: Any, dilation: Any,
             ceil_mode: bool) -> Any:
        kernel = spans.numbers(name, "kernel_size", kernel_size, rank)
        steps = kernel if _is_left_out(stride) else spans.numbers(
            name, "stride", stride, rank)
        made = ops.max_pool(self, kernel, steps, spans.numbers(name, "padding", padding, rank),
                            spans.numbers(name, "dilation", dilation, rank), bool(ceil_mode),
                            indices or ops.has_derivative(self))
        return made if indices else made[0]
    return body


for _rank in (1, 2, 3):
    for _suffix, _indices in (("", False), ("_with_indices", True)):
        composite(f"max_pool{_rank}d{_suffix}(Tensor self, any kernel_size, any? stride=None, "
                  f"any padding=0, any dilation=1, bool ceil_mode=False) -> Tensor",
                  _public_max(_rank, _indices), method=False,
                  autocast="float32" if _rank == 3 else "",
                  doc="The largest value of every window of the last dimensions.")


# ---- avg_pool --------------------------------------------------------------------------------

def _divisors(p: Any, shape: Sizes, result: Sizes, kernel: Sizes, stride: Sizes, padding: Sizes,
              include_pad: bool, wide: Any) -> list[Any] | None:
    """Counts per dimension where windows differ in what they count; else None."""
    rank = len(kernel)
    sizes = shape[-rank:]
    even = all((m - 1) * s + k <= n + 2 * q for m, s, k, n, q in
               zip(result, stride, kernel, sizes, padding, strict=True))
    if even and (include_pad or not any(padding)):
        return None
    ndim = len(shape)
    return [spans.along(spans.window_counts(p, n, m, k, s, q, include_pad, wide), ndim,
                        ndim - rank + d)
            for d, (n, m, k, s, q) in enumerate(zip(sizes, result, kernel, stride, padding,
                                                    strict=True))]


def _over(p: Any, value: Expr, counts: tuple[Expr, ...], fixed: int) -> Expr:
    """value divided by a window's count."""
    if not counts:
        return value / p.fixed(fixed, value.dtype)
    total = counts[0]
    for more in counts[1:]:
        total = total * more
    return value / total


def _avg_pool(p: Any, self: Any, kernel: Sizes, stride: Sizes, padding: Sizes, ceil_mode: bool,
              count_include_pad: bool, divisor_override: int | None) -> None:
    rank, shape, dtype = len(kernel), tuple(self.spec.shape), self.spec.dtype
    ones = (1,) * rank
    _check(f"avg_pool{rank}d", shape, rank, kernel, stride, padding, ones)
    if divisor_override == 0:
        raise RuntimeError("divisor must be not zero")
    if dtype is bool_ or dtype.is_complex:
        raise NotImplementedError(f'"avg_pool{rank}d" not implemented for '
                                  f"'{p.scalar_name(dtype)}'")
    result = _result_size(shape, rank, kernel, stride, padding, ones, ceil_mode)
    whole = (*shape[:-rank], *result)
    made = p.result(spec(dtype, whole, image(self.spec, whole, 2), p.device))
    if made.spec.numel == 0:
        return
    wide = compute_dtype(dtype)
    x = spans.padded(p, self, padding, _extents(shape, result, kernel, stride, padding, ones), 0)
    counts = _divisors(p, shape, result, kernel, stride, padding, count_include_pad, wide) \
        if divisor_override is None else None
    fixed = divisor_override or math.prod(kernel)
    if math.prod(kernel) <= MOST_LOADS:
        source = spans.stepped(x, result, stride, (0,) * rank)

        def body(_: Expr, *more: Expr) -> Expr:
            total = None
            for place in spans.positions(kernel):
                value = cast(spans.at(0, x, p, place), wide)
                total = value if total is None else total + value
            return _mean(p, total, more, fixed)  # type: ignore[arg-type]

        p.flat(body, [source, *(counts or [])], [made])
        return
    total = x
    for d in reversed(range(rank)):
        total = _window_sums(p, total, len(shape) - rank + d, result[d], kernel[d], stride[d],
                             wide)
    p.flat(lambda v, *more: _mean(p, v, more, fixed), [total, *(counts or [])], [made])


def _mean(p: Any, total: Expr, counts: tuple[Expr, ...], fixed: int) -> Expr:
    if total.dtype.category == FLOATING:
        return _over(p, total, counts, fixed)
    if not counts:
        return idiv(total, p.fixed(fixed, total.dtype))
    whole = counts[0]
    for more in counts[1:]:
        whole = whole * more
    return idiv(total, whole)


def _window_sums(p: Any, x: Any, dim: int, windows: int, kernel: int, stride: int, wide: Any
                 ) -> Any:
    """Sums of windows along one dimension."""
    shape, steps = list(x.spec.shape), list(x.spec.strides)
    own = steps[dim]
    shape[dim], steps[dim] = windows, own * stride
    made = p.temporary(shape, wide)
    p.rows(lambda v: fold("sum", cast(v, wide)), [x.seen(((*shape, kernel), (*steps, own), 0))],
           [made.as_rows()], shape, kernel)
    return made


def _avg_pool_backward(p: Any, grad_output: Any, shape: Sizes, strides: Sizes, kernel: Sizes,
                       stride: Sizes, padding: Sizes, ceil_mode: bool, count_include_pad: bool,
                       divisor_override: int | None) -> None:
    """Each gradient over its count, then spread over its window, one dimension at a time."""
    rank, dtype = len(kernel), grad_output.spec.dtype
    made = p.result(spec(dtype, shape, strides, p.device))
    if made.spec.numel == 0:
        return
    wide = compute_dtype(dtype)
    result = tuple(grad_output.spec.shape[-rank:])
    counts = _divisors(p, shape, result, kernel, stride, padding, count_include_pad, wide) \
        if divisor_override is None else None
    total = p.temporary(grad_output.spec.shape, wide)
    fixed = divisor_override or math.prod(kernel)
    p.flat(lambda v, *more: _over(p, cast(v, wide), more, fixed), [grad_output, *(counts or [])],
           [total])
    extents = _extents(shape, result, kernel, stride, padding, (1,) * rank)
    for d in range(rank):
        total = _spread(p, total, len(shape) - rank + d, extents[d], kernel[d], stride[d])
    p.flat(lambda v: v, [spans.inside(total, padding, shape[-rank:])], [made])


def _spread(p: Any, y: Any, dim: int, extent: int, kernel: int, stride: int) -> Any:
    """The adjoint of `_window_sums`."""
    shape = list(y.spec.shape)
    windows = shape[dim]
    shape[dim] = extent
    made = spans.filled(p, shape, y.spec.dtype, 0)
    steps = list(made.spec.strides)
    own = steps[dim]
    shape[dim], steps[dim] = windows, own * stride
    for k in range(kernel):
        part = made.seen((tuple(shape), tuple(steps), k * own))
        if stride >= kernel:
            p.flat(lambda v: v, [y], [part])
        else:
            p.flat(lambda old, v: old + v, [part, y], [part])
    return made


_AVERAGE = ("any kernel, any stride, any padding, bool ceil_mode, bool count_include_pad, "
            "any divisor_override")
rows(f"avg_pool_backward(Tensor grad_output, any shape, any strides, {_AVERAGE}) -> Tensor",
     _avg_pool_backward, method=False,
     backward={"grad_output": lambda ops, grad, kernel, stride, padding, ceil_mode,
               count_include_pad, divisor_override: ops.avg_pool(
                   grad, kernel, stride, padding, ceil_mode, count_include_pad,
                   divisor_override)})
rows(f"avg_pool(Tensor self, {_AVERAGE}) -> Tensor", _avg_pool, method=False, keeps_more=True,
     node_name=lambda plan: f"AvgPool{_rank_of(plan)}DBackward0",
     backward={"self": lambda ops, grad, self_spec, kernel, stride, padding, ceil_mode,
               count_include_pad, divisor_override: ops.avg_pool_backward(
                   grad, *spans.place(self_spec), kernel, stride, padding, ceil_mode,
                   count_include_pad, divisor_override)})


def _public_avg(rank: int) -> Any:
    name = f"avg_pool{rank}d"

    def body(ops: Any, self: Any, kernel_size: Any, stride: Any, padding: Any, ceil_mode: bool,
             count_include_pad: bool, divisor_override: Any = None) -> Any:
        kernel = spans.numbers(name, "kernel_size", kernel_size, rank)
        steps = kernel if _is_left_out(stride) else spans.numbers(
            name, "stride", stride, rank)
        return ops.avg_pool(self, kernel, steps, spans.numbers(name, "padding", padding, rank),
                            bool(ceil_mode), bool(count_include_pad), divisor_override)
    return body


for _rank in (1, 2, 3):
    _more = ", any? divisor_override=None" if _rank > 1 else ""
    composite(f"avg_pool{_rank}d(Tensor self, any kernel_size, any? stride=None, any padding=0, "
              f"bool ceil_mode=False, bool count_include_pad=True{_more}) -> Tensor",
              _public_avg(_rank), method=False, out=_rank > 1,
              autocast="float32" if _rank == 3 else "",
              doc="The mean of every window of the last dimensions.")
