"""Fractional max pools: windows of one size whose places a random number of each channel chooses.

The pseudorandom sequences of B. Graham, Fractional Max-Pooling, arXiv:1412.6071.
"""

# Names: fractional_max_pool2d fractional_max_pool3d

from __future__ import annotations

from typing import Any

from ..core.dtypes import FLOATING, int64
from ..core.spec import contiguous_strides, spec
from ..loops.ir import Expr, cast, const, coord, fold, load
from ..loops.scalar import isnan, where
from . import spans
from .kinds import composite, compute_dtype, rows

Sizes = tuple[int, ...]

SIDES = {2: ("height", "width"), 3: ("time", "height", "width")}


def _check(p: Any, self: Any, kernel: Sizes, size: Sizes, samples: Any) -> None:
    rank, shape, dtype = len(size), tuple(self.spec.shape), self.spec.dtype
    name = "fractional_max_pool2d()" if rank == 2 else "fractional_max_pool3d_out()"
    if len(shape) not in (rank + 1, rank + 2):
        raise RuntimeError(f"{name}: Expected {rank + 1}D or {rank + 2}D tensor, but got: "
                           f"{list(shape)}")
    for d in range(len(shape) - rank - 1, len(shape)):
        if shape[d] == 0:
            raise RuntimeError(
                f"{name}: Expected input to have non-zero size for non-batch dimensions, but "
                f"got{list(shape)} with dimension {d} being empty.")
    if min(kernel) <= 0:
        raise RuntimeError(f"kernel size should be greater than zero, but got {list(kernel)}")
    for side, n, k, m in zip(SIDES[rank], shape[-rank:], kernel, size, strict=True):
        if m + k - 1 > n - (rank == 3):  # the pool in three dimensions wants one more, as PyTorch's
            raise RuntimeError(f"{name}: pool {side} {k} too large relative to input {side} {n}")
    if dtype.category != FLOATING:
        raise NotImplementedError(f'"fractional_max_pool{rank}d" not implemented for '
                                  f"'{p.scalar_name(dtype)}'")
    _check_samples(samples.spec, dtype, shape[-rank - 1],
                   shape[0] if len(shape) == rank + 2 else 1, rank)


def _check_samples(given: Any, dtype: Any, channels: int, images: int, rank: int) -> None:
    if given.dtype is not dtype:
        raise RuntimeError("Expect _random_samples to have the same dtype as input")
    if len(given.shape) != 3:
        raise RuntimeError(f"Expect _random_samples to have 3 dimensions, got {len(given.shape)}")
    if given.shape[0] < images:
        raise RuntimeError("Expect _random_samples.size(0) to be at least the batch size "
                           f"{images}; got {given.shape[0]}.")
    if given.shape[1] != channels:
        raise RuntimeError("Expect _random_samples.size(1) equals to input channel size.")
    if given.shape[2] != rank:
        raise RuntimeError(f"Expect _random_samples.size(2) equals to {rank}; got "
                           f"{given.shape[2]}.")


def _starts(p: Any, samples: Any, column: int, lead: Sizes, size: int, kernel: int, count: int
            ) -> Any:
    """Where the windows along one dimension begin, int64 (*lead, count); the last one ends it."""
    dtype = samples.spec.dtype
    wide = compute_dtype(dtype)
    made = p.temporary((*lead, count), int64)
    steps = samples.spec.strides
    own = samples.seen(((*lead, count), (*steps[2 - len(lead):2], 0), column * steps[2]))
    indices = spans.along(spans.table(p, count, lambda i: i), len(lead) + 1, len(lead))

    def rounded(value: Expr) -> Expr:
        """Every step in the dtype of the input, as PyTorch takes it."""
        return cast(cast(value, dtype), wide)

    def body(sample: Expr, index: Expr) -> Expr:
        last = p.fixed(size - kernel, int64)
        if count == 1:
            return last
        apart = rounded(rounded(p.fixed(size - kernel, wide)) / rounded(p.fixed(count - 1, wide)))
        sample = cast(sample, wide)
        sum_ = rounded(rounded(cast(index, wide)) + sample)
        place = cast(rounded(sum_ * apart), int64) - cast(rounded(sample * apart), int64)
        return where(index >= p.fixed(count - 1, int64), last, place)

    p.flat(body, [own, indices], [made])
    return made


def _largest(p: Any, self: Any, kernel: Sizes, size: Sizes, random_samples: Any) -> None:
    """One dimension after the other, innermost first: the largest value and its flat place."""
    rank, shape, dtype = len(size), tuple(self.spec.shape), self.spec.dtype
    _check(p, self, kernel, size, random_samples)
    lead = shape[:-rank]
    outs = [p.result(spec(d, (*lead, *size), None, p.device)) for d in (dtype, int64)]
    if outs[0].spec.numel == 0:
        return
    unit = contiguous_strides(shape[-rank:])
    columns = range(rank) if rank == 3 else (1, 0)  # in two dimensions the width comes first
    value, found = self, None
    for d in reversed(range(rank)):
        dim = len(lead) + d
        made = (*value.spec.shape[:dim], size[d], *value.spec.shape[dim + 1:])
        goals = outs if d == 0 else [p.temporary(made, out.spec.dtype) for out in outs]
        starts = _starts(p, random_samples, columns[d], lead, shape[dim], kernel[d], size[d])
        own = [0] * len(shape)
        own[:len(lead)], own[dim] = starts.spec.strides[:-1], starts.spec.strides[-1]
        sources = [_fixed_along(value, made, dim, kernel[d]),
                   starts.seen((made, tuple(own), 0)).as_rows()]
        if found is not None:
            sources.append(_fixed_along(found, made, dim).as_rows())
        p.rows(_winner(p, value, found, dim, unit[d]), sources, [g.as_rows() for g in goals], made,
               kernel[d])
        value, found = goals


def _fixed_along(x: Any, shape: Sizes, dim: int, inner: int = 0) -> Any:
    """x without steps along a dimension, which becomes the inner axis where one is asked for."""
    steps = list(x.spec.strides)
    own, steps[dim] = steps[dim], 0
    if inner:
        return x.seen(((*shape, inner), (*steps, own), 0))
    return x.seen((shape, tuple(steps), 0))


def _winner(p: Any, value: Any, found: Any, dim: int, unit: int) -> Any:
    """The body of one dimension's stage."""
    dtype = value.spec.dtype

    def body(_: Expr, start: Expr, *rest: Expr) -> tuple[Expr, Expr]:
        step = p.fixed(value.spec.strides[dim], int64)
        seen = cast(load(0, dtype, start * step), compute_dtype(dtype))
        nan = fold("max", where(isnan(seen), coord("inner"), const(-1, int64)))
        place = start + where(nan >= 0, nan, fold("argmax", seen))  # the last NaN, as PyTorch's
        flat = place * p.fixed(unit, int64)
        if found is not None:
            flat = flat + load(2, int64, place * p.fixed(found.spec.strides[dim], int64))
        return fold("max", seen), flat

    return body


rows("fractional_max_pool(Tensor self, any kernel, any size, Tensor random_samples) -> "
     "(Tensor, Tensor)", _largest, method=False, carriers=1,
     node_name=lambda plan: f"FractionalMaxPool{len(plan.values[1])}DBackward0",
     backward={"self": lambda ops, grad, result1, self_spec, size: ops.max_pool_backward(
         grad, result1, tuple(self_spec.shape), contiguous_strides(self_spec.shape),
         len(size))})


def _public(rank: int) -> Any:
    name = f"fractional_max_pool{rank}d"

    def numbers(argument: str, given: Any) -> Sizes:
        made = (given,) * rank if isinstance(given, int) else tuple(int(n) for n in given)
        if len(made) != rank:
            raise RuntimeError(f"{name}: {argument} must either be a single Int or tuple of "
                               f"{'' if rank == 2 else 'three '}Ints")
        return made

    return lambda ops, self, kernel_size, output_size, random_samples: ops.fractional_max_pool(
        self, numbers("kernel_size", kernel_size), numbers("output_size", output_size),
        random_samples)


for _rank in (2, 3):
    composite(f"fractional_max_pool{_rank}d(Tensor self, any kernel_size, any output_size, "
              "Tensor random_samples) -> (Tensor, Tensor)", _public(_rank), method=False,
              autocast="float32",
              doc="The largest values of windows at random places, and their flat places.")
