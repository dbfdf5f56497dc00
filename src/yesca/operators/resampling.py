"""Resampling of the last dimensions: nearest, linear, cubic; with smoothing where asked.

Along each dimension an output element reads a few *taps*: places and weights, in tables made by
stages of the same launch. Forward reads all combinations of taps at once; backward puts gradients
back one dimension after the other.
"""

# Names: _upsample_nearest_exact1d _upsample_nearest_exact2d _upsample_nearest_exact3d
# Names: upsample_bicubic2d upsample_bilinear2d upsample_linear1d upsample_nearest1d
# Names: upsample_nearest2d upsample_nearest3d upsample_trilinear3d

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from ..core.dtypes import FLOATING, DType, float64, int64, uint8
from ..core.memory_formats import following
from ..core.spec import spec
from ..loops.ir import Expr, cast, const, coord, load
from ..loops.scalar import absolute, floor, maximum, minimum, trunc, where
from . import spans
from .kinds import composite, compute_dtype, rows

Sizes = tuple[int, ...]
CUBIC = -0.75  # the free parameter of the cubic


@dataclass(frozen=True)
class Axis:
    """One dimension's way from an output index to places in the input."""

    size: int
    result: int
    mode: str
    corners: bool
    factor: float | None

    def scale(self) -> float:
        """How far the input moves for one step of the output."""
        if self.corners and self.mode not in ("nearest", "exact"):
            return (self.size - 1) / (self.result - 1) if self.result > 1 else 0.0
        if self.factor is not None and self.factor > 0:
            return 1.0 / self.factor
        return self.size / self.result

    def place(self, p: Any, wide: DType) -> Expr:
        """The output index in the input's coordinates."""
        index, scale = cast(coord("point"), wide), p.fixed(self.scale(), wide)
        if self.mode == "nearest":
            return index * scale
        if self.mode == "exact":
            return (index + 0.5) * scale
        if self.corners:
            return index * scale
        source = (index + 0.5) * scale - 0.5
        return maximum(source, 0.0) if self.mode == "linear" else source

    def taps(self, p: Any, wide: DType) -> list[tuple[Any, Any]]:
        """Tables of (place, weight) with one entry per output index."""
        count = {"nearest": 1, "exact": 1, "linear": 2, "cubic": 4}[self.mode]
        return [(self._table(p, wide, lambda k=k: self._index(p, wide, k), int64),
                 None if count == 1 else
                 self._table(p, wide, lambda k=k: self._weight(p, wide, k), wide))
                for k in range(count)]

    def _table(self, p: Any, wide: DType, body: Callable[[], Expr], dtype: DType) -> Any:
        made = p.temporary((self.result,), dtype)
        p.flat(lambda: cast(body(), dtype), [], [made])
        return made

    def _index(self, p: Any, wide: DType, tap: int) -> Expr:
        shift = tap - 1 if self.mode == "cubic" else tap
        place = cast(floor(self.place(p, wide)), int64) + shift
        return minimum(maximum(place, const(0, int64)), p.fixed(self.size - 1, int64))

    def _weight(self, p: Any, wide: DType, tap: int) -> Expr:
        place = self.place(p, wide)
        whole = floor(place)
        if self.mode == "linear":
            whole = minimum(whole, p.fixed(self.size - 1, wide))
        part = place - whole
        if self.mode == "linear":
            return part if tap else 1.0 - part
        return cubic(absolute(part - float(tap - 1)), CUBIC)


def cubic(x: Expr, a: float) -> Expr:
    """Keys' cubic at a distance of at most 2."""
    near = ((x * (a + 2.0)) - (a + 3.0)) * x * x + 1.0
    far = ((x * a - 5.0 * a) * x + 8.0 * a) * x - 4.0 * a
    return where(x <= 1.0, near, far)


def _axes(size: Sizes, result: Sizes, mode: str, corners: bool, factors: Any) -> list[Axis]:
    given = factors or (None,) * len(result)
    return [Axis(n, m, mode, corners, f) for n, m, f in zip(size, result, given, strict=True)]


def check_sizes(self: Any, result: Sizes) -> None:
    """Refuse images without elements."""
    shape, rank = tuple(self.spec.shape), len(result)
    if len(shape) != rank + 2:
        raise RuntimeError(f"It is expected input_size equals to {rank + 2}, but got size "
                           f"{len(shape)}")
    if any(n <= 0 for n in (*shape[2:], *result)):
        given, wanted = (", ".join(f"{axis}: {n}" for axis, n in zip(
            "DHW"[-rank:], sizes, strict=True)) for sizes in (shape[2:], result))
        raise RuntimeError(
            f"Input and output sizes should be greater than 0, but got input ({given}) "
            f"{'and ' if rank == 1 else ''}output ({wanted})")
    if shape[1] == 0:
        raise RuntimeError(f"Non-empty {rank + 2}D data tensor expected but got a tensor with "
                           f"sizes {list(shape)}")


def _check(p: Any, self: Any, result: Sizes, name: str) -> None:
    check_sizes(self, result)
    rank, dtype = len(result), self.spec.dtype
    if dtype.category != FLOATING and not (dtype is uint8 and (rank == 2 or "nearest" in name)):
        raise NotImplementedError(f'"{_refusal(name, rank)}" not implemented for '
                                  f"'{p.scalar_name(dtype)}'")


def _refusal(name: str, rank: int) -> str:
    """What messages call the kernel that lacks a dtype."""
    word = next(word for word in ("nearest", "cubic", "linear") if word in name)
    if rank != 2 or word == "cubic":
        return f"compute_indices_weights_{word}"
    return f"{name.replace('_exact', '')}_channels_last"


def _resample(p: Any, self: Any, result: Sizes, mode: str, corners: bool, factors: Any) -> None:
    rank, shape, dtype = len(result), tuple(self.spec.shape), self.spec.dtype
    _check(p, self, result, _kernel_name(mode, rank))
    whole = (*shape[:2], *result)
    strides = following(self.spec, whole) if mode != "cubic" or rank == 2 else None
    made = p.result(spec(dtype, whole, strides, p.device))
    if made.spec.numel == 0:
        return
    axes = _axes(shape[2:], result, mode, corners, factors)
    if dtype is uint8 and mode in ("linear", "cubic"):
        _resample_bytes(p, self, axes, made)
        return
    wide = compute_dtype(dtype) if dtype.category == FLOATING else float64
    taps = [axis.taps(p, wide) for axis in axes]
    steps = self.spec.strides[2:]
    source = self.seen(((*shape[:2], *result), (*self.spec.strides[:2], *(0,) * rank), 0))
    refs, named = [source], {}
    for d, own in enumerate(taps):
        for k, pair in enumerate(own):
            for kind, vector in enumerate(pair):
                if vector is not None:
                    named[d, k, kind] = len(refs)
                    refs.append(spans.along(vector, rank + 2, 2 + d))

    def body(*loads: Expr) -> Expr:
        total = None
        for chosen in itertools.product(*(range(len(own)) for own in taps)):
            offset = const(0, int64)
            for d, k in enumerate(chosen):
                offset = offset + loads[named[d, k, 0]] * p.fixed(steps[d], int64)
            value = load(0, dtype, offset)
            if (0, 0, 1) not in named:
                return value
            value = cast(value, wide)
            for d, k in enumerate(chosen):
                value = value * loads[named[d, k, 1]]
            total = value if total is None else total + value
        return total

    p.flat(body, refs, [made])


# ---- bytes -----------------------------------------------------------------------------------

def _resample_bytes(p: Any, self: Any, axes: list[Axis], made: Any) -> None:
    """One dimension after the other, the last one first; each gives bytes.

    As in PyTorch, weights are numbers of 16 bits: what they are multiplied by follows from the
    largest of them.
    """
    for d in range(len(axes) + 1, 1, -1):
        own = axes[d - 2]
        shape = (*self.spec.shape[:d], own.result, *self.spec.shape[d + 1:])
        out = made if d == 2 else p.temporary(shape, uint8)
        _bytes_along(p, self, d, own, out)
        self = out


def _bytes_along(p: Any, x: Any, d: int, own: Axis, out: Any) -> None:
    ndim, vectors = x.spec.ndim, [v for pair in own.taps(p, float64) for v in pair]
    largest = p.temporary((), float64)
    p.reduce("max", lambda *loads: functools.reduce(maximum, _gathered(loads)), lambda m: m,
             vectors, (0,), largest)
    source = x.seen((out.spec.shape, (*x.spec.strides[:d], 0, *x.spec.strides[d + 1:]), 0))

    def body(_: Expr, most: Expr, *loads: Expr) -> Expr:
        unit = where(most * 2.0**15 >= 2.0**15 - 0.5, const(2.0**14, float64), 2.0**15)
        total = unit * 0.5
        for place, weight in zip(loads[::2], _gathered(loads), strict=True):
            value = load(0, uint8, place * p.fixed(x.spec.strides[d], int64))
            half = where(weight < 0.0, const(-0.5, float64), 0.5)
            total = total + cast(value, float64) * trunc(weight * unit + half)
        return cast(minimum(maximum(floor(total / unit), 0.0), 255.0), uint8)

    p.flat(body, [source, largest.seen((out.spec.shape, (0,) * ndim, 0)),
                  *(spans.along(v, ndim, d) for v in vectors)], [out])


def _gathered(loads: Sequence[Expr]) -> list[Expr]:
    """The weights of taps; of those that an edge puts on one place the first has them all."""
    places, weights = loads[::2], list(loads[1::2])
    made = []
    for k, place in enumerate(places):
        total = weights[k]
        for later in range(k + 1, len(places)):
            total = total + where(places[later].eq(place), weights[later], 0.0)
        made.append(total if k == 0 else where(places[k - 1].eq(place), 0.0, total))
    return made


def _resample_backward(p: Any, grad_output: Any, shape: Sizes, mode: str, corners: bool,
                       factors: Any) -> None:
    dtype = grad_output.spec.dtype
    result = tuple(grad_output.spec.shape[2:])
    made = p.result(spec(dtype, shape, None, p.device))
    if made.spec.numel == 0:
        return
    wide, total = compute_dtype(dtype), grad_output
    for d, axis in enumerate(_axes(shape[2:], result, mode, corners, factors)):
        total = _put_back(p, total, 2 + d, axis.size, axis.taps(p, wide), wide)
    p.flat(lambda v: v, [total], [made])


def _put_back(p: Any, y: Any, dim: int, size: int, taps: Sequence[tuple[Any, Any]], wide: DType
              ) -> Any:
    """Each element times its weights, added at its taps' places along one dimension."""
    shape, steps = list(y.spec.shape), list(y.spec.strides)
    count, step = shape.pop(dim), steps.pop(dim)
    full = list(y.spec.shape)
    full[dim] = size
    made = spans.filled(p, full, wide, 0)
    outer = list(made.spec.strides)
    own = outer.pop(dim)
    into = made.seen((tuple(shape), tuple(outer), 0)).as_rows()
    inputs = [y.seen(((*shape, count), (*steps, step), 0))]
    for pair in taps:
        inputs += [v.seen(((count,), (1,), 0)) for v in pair if v is not None]

    def body(v: Expr, *loads: Expr) -> tuple[Any, ...]:
        left, puts = list(loads), []
        for _, weight in taps:
            place = left.pop(0) * p.fixed(own, int64)
            value = cast(v, wide)
            puts.append(p.store(value * left.pop(0) if weight is not None else value, place,
                                accumulate="sum"))
        return tuple(puts)

    p.rows(body, inputs, [into] * len(taps), shape, count)
    return made


_OPTIONS = "str mode, bool corners, any factors"


def _kernel_name(mode: str, rank: int) -> str:
    word = {"nearest": "nearest", "exact": "nearest_exact", "cubic": "bicubic",
            "linear": {1: "linear", 2: "bilinear", 3: "trilinear"}.get(rank, "linear")}[mode]
    return f"upsample_{word}{rank}d"


def _node_name(plan: Any) -> str:
    name = _kernel_name(plan.values[2], len(plan.values[1]))
    words = name.removesuffix("d").split("_")
    return "".join(w.capitalize() for w in words) + "DBackward0"


rows(f"resample_backward(Tensor grad_output, any shape, {_OPTIONS}) -> Tensor",
     _resample_backward, method=False,
     backward={"grad_output": lambda ops, grad, grad_output_spec, mode, corners, factors:
               ops.resample(grad, tuple(grad_output_spec.shape)[2:], mode, corners, factors)})
rows(f"resample(Tensor self, any size, {_OPTIONS}) -> Tensor", _resample, method=False,
     node_name=_node_name,
     backward={"self": lambda ops, grad, self_spec, mode, corners, factors: ops.resample_backward(
         grad, tuple(self_spec.shape), mode, corners, factors)})


def result_size(shape: Sizes, output_size: Any, factors: Any) -> Sizes:
    """The sizes asked for, or the input's times the factors, rounded down."""
    if output_size is not None:
        return tuple(int(n) for n in output_size)
    return tuple(scaled_size(n, f) for n, f in zip(shape[2:], factors, strict=True))


def scaled_size(size: int, factor: float) -> int:
    """size * factor, rounded down, if it is a number that 64 bits hold."""
    made = size * factor
    if not -(2.0 ** 63) <= made < 2.0 ** 63:
        raise RuntimeError("value cannot be converted to type int64_t without overflow: size "
                           f"{size} times {factor}")
    return int(made)


def _public(mode: str, corners: bool) -> Any:
    def with_corners(ops: Any, self: Any, output_size: Any, align_corners: bool, factors: Any
                     ) -> Any:
        size = result_size(tuple(self.shape), output_size, factors)
        return ops.resample(self, size, mode, bool(align_corners), static_factors(factors))

    def without(ops: Any, self: Any, output_size: Any, factors: Any) -> Any:
        return with_corners(ops, self, output_size, False, factors)

    return with_corners if corners else without


def static_factors(factors: Any) -> Any:
    """Scale factors as a plan's key holds them."""
    return None if factors is None else tuple(float(f) for f in factors)


for _rank in (1, 2, 3):
    _tail = "any? output_size=None, any? scale_factors=None) -> Tensor"
    composite(f"upsample_nearest{_rank}d(Tensor self, {_tail}", _public("nearest", False),
              method=False, doc="The nearest element below.")
    composite(f"_upsample_nearest_exact{_rank}d(Tensor self, {_tail}", _public("exact", False),
              method=False, doc="The nearest element.")
for _name, _mode in (("linear1d", "linear"), ("bilinear2d", "linear"), ("trilinear3d", "linear"),
                     ("bicubic2d", "cubic")):
    composite(f"upsample_{_name}(Tensor self, any? output_size=None, bool align_corners=False, "
              "any? scale_factors=None) -> Tensor", _public(_mode, True), method=False,
              doc="A weighted mean of the elements around.")
