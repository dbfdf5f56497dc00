"""Adaptive pools: the windows divide the input into a given number of parts."""

# Names: adaptive_avg_pool1d adaptive_avg_pool2d adaptive_avg_pool3d adaptive_max_pool1d
# Names: adaptive_max_pool2d adaptive_max_pool3d

from __future__ import annotations

from typing import Any

from ..core.dtypes import FLOATING, bool_, int64
from ..core.memory_formats import image
from ..core.spec import contiguous_strides, spec
from ..loops.ir import Expr, cast, const, fold
from ..loops.scalar import where
from . import spans
from .kinds import composite, compute_dtype, rows

Sizes = tuple[int, ...]


def _check(p: Any, name: str, self: Any, size: Sizes, spatial: bool = False) -> None:
    """Refuse sizes and dtypes; `spatial`: there may be no channels."""
    rank, shape = len(size), tuple(self.spec.shape)
    if len(shape) not in (rank + 1, rank + 2):
        raise RuntimeError(f"{name}(): Expected {rank + 1}D or {rank + 2}D tensor, but got: "
                           f"{list(shape)}")
    for d in range(len(shape) - rank if spatial else 1, len(shape)):
        if shape[d] == 0:
            raise RuntimeError(
                f"{name}(): Expected input to have non-zero size for non-batch dimensions, but "
                f"input has sizes {list(shape)} with dimension {d} being empty")
    if self.spec.dtype.category != FLOATING:
        raise NotImplementedError(f'"{name}" not implemented for '
                                  f"'{p.scalar_name(self.spec.dtype)}'")


def _check_sizes(size: Sizes, before: Sizes = (), largest: bool = False) -> None:
    """Refuse negative sizes in PyTorch's words, which in one dimension are those of two."""
    if min(size) >= 0:
        return
    size = (1, *size) if len(size) == 1 else size
    if largest:
        raise RuntimeError(f"Trying to create tensor with negative dimension {min(size)}: "
                           f"{[*before, *size]}")
    shown = ",".join([", ".join(map(str, size[:2])), *map(str, size[2:])])
    raise RuntimeError(f"adaptive_avg_pool{len(size)}d: elements of output_size must be greater "
                       f"than or equal to 0 but received {{{shown}}}")


def _average(p: Any, self: Any, size: Sizes) -> None:
    rank, shape, dtype = len(size), tuple(self.spec.shape), self.spec.dtype
    _check_sizes(size)
    _check(p, f"adaptive_avg_pool{rank}d", self, size, spatial=True)
    if min(size) < 0:
        raise RuntimeError(f"adaptive_avg_pool{rank}d: elements of output_size must be greater "
                           f"than or equal to 0 but received {list(size)}")
    whole = (*shape[:-rank], *size)
    made = p.result(spec(dtype, whole, image(self.spec, whole, 2), p.device))
    if made.spec.numel == 0:
        return
    wide, total, counts = compute_dtype(dtype), self, []
    for d in reversed(range(rank)):
        dim = len(shape) - rank + d
        total = spans.part_sums(p, total, dim, size[d], wide)
        counts.append(spans.along(spans.part_lengths(p, shape[dim], size[d], wide), len(shape),
                                  dim))
    p.flat(_quotient, [total, *counts], [made])


def _quotient(total: Expr, *counts: Expr) -> Expr:
    whole = cast(counts[0], total.dtype)
    for more in counts[1:]:
        whole = whole * more
    return total / whole


def _average_backward(p: Any, grad_output: Any, shape: Sizes, strides: Sizes, rank: int
                      ) -> None:
    """The parts that an input element lies in are the parts of the output divided by the input."""
    dtype = grad_output.spec.dtype
    made = p.result(spec(dtype, shape, strides, p.device))
    if made.spec.numel == 0 or grad_output.spec.numel == 0:
        if made.spec.numel:
            p.flat(lambda: const(0, dtype), [], [made])
        return
    wide, size = compute_dtype(dtype), tuple(grad_output.spec.shape[-rank:])
    ndim = len(shape)
    counts = [spans.along(spans.part_lengths(p, shape[ndim - rank + d], size[d], wide), ndim,
                          ndim - rank + d) for d in range(rank)]
    total = p.temporary(grad_output.spec.shape, wide)
    p.flat(lambda v, *c: _quotient(cast(v, wide), *c), [grad_output, *counts], [total])
    for d in range(rank):
        total = spans.part_sums(p, total, ndim - rank + d, shape[ndim - rank + d], wide)
    p.flat(lambda v: v, [total], [made])


rows("adaptive_avg_pool_backward(Tensor grad_output, any shape, any strides, int rank) -> "
     "Tensor", _average_backward, method=False,
     backward={"grad_output": lambda ops, grad, grad_output_spec, rank: ops.adaptive_avg_pool(
         grad, tuple(grad_output_spec.shape)[-rank:])})
rows("adaptive_avg_pool(Tensor self, any size) -> Tensor", _average, method=False,
     node_name=lambda plan: f"AdaptiveAvgPool{len(plan.values[1])}DBackward0",
     backward={"self": lambda ops, grad, self_spec, size: ops.adaptive_avg_pool_backward(
         grad, *spans.place(self_spec), len(size))})


def _public_average(rank: int) -> Any:
    name = f"adaptive_avg_pool{rank}d"

    def body(ops: Any, self: Any, output_size: Any) -> Any:
        size = spans.numbers(name, "output_size", output_size, rank)
        shape = tuple(self.shape)
        if len(shape) not in (rank + 1, rank + 2) or any(n <= 0 for n in (*size, *shape[1:])) \
                or not self.dtype.is_floating_point:
            return ops.adaptive_avg_pool(self, size)
        if all(n == 1 for n in size):
            made = ops.mean(self, tuple(range(-rank, 0)), True)
            strides = image(self._spec, tuple(made.shape), rank)
            return made if made._spec.strides == strides else ops.as_strided(
                made, tuple(made.shape), strides)
        if all(n % m == 0 for n, m in zip(shape[-rank:], size, strict=True)):
            kernel = tuple(n // m for n, m in zip(shape[-rank:], size, strict=True))
            return ops.avg_pool(self, kernel, kernel, (0,) * rank, False, True, None)
        return ops.adaptive_avg_pool(self, size)
    return body


def _largest(p: Any, self: Any, size: Sizes) -> None:
    """One dimension after the other: the largest value and where it was found."""
    rank, shape, dtype = len(size), tuple(self.spec.shape), self.spec.dtype
    if dtype is not bool_:
        _check(p, f"adaptive_max_pool{rank}d", self, size)
    _check_sizes(size, shape[:-rank], largest=True)
    whole = (*shape[:-rank], *size)
    if min(size) < 0:
        raise RuntimeError(f"Trying to create tensor with negative dimension {min(size)}: "
                           f"{list(whole)}")
    made, places = (p.result(spec(d, whole, image(self.spec, whole, 2), p.device))
                    for d in (dtype, int64))
    if made.spec.numel == 0:
        return
    value, found = self, None
    unit = contiguous_strides(shape[-rank:])
    for d in reversed(range(rank)):
        dim = len(shape) - rank + d
        work = spans.Parts(p, value, dim, size[d])
        outs = [made, places] if d == 0 else [p.temporary(work.shape, dtype),
                                              p.temporary(work.shape, int64)]
        work.fold(lambda v, kept, start, pick, step=unit[d], first=found is None: _winner(
            p, v, kept, start, None if first else pick, step), outs,
            [] if found is None else [found])
        value, found = outs


def _winner(p: Any, value: Expr, kept: Expr, start: Expr, pick: Any, step: int
            ) -> tuple[Expr, Expr]:
    wide = compute_dtype(value.dtype)
    seen = where(kept, cast(value, wide), const(spans.lowest(wide), wide))
    place = start + fold("argmax", seen)
    flat = place * p.fixed(step, int64)
    return fold("max", seen), flat if pick is None else flat + pick(0, place)


rows("adaptive_max_pool(Tensor self, any size) -> (Tensor, Tensor)", _largest, method=False,
     carriers=1, node_name=lambda plan: f"AdaptiveMaxPool{len(plan.values[1])}DBackward0",
     backward={"self": lambda ops, grad, result1, self_spec, size: ops.max_pool_backward(
         grad, result1, *spans.place(self_spec), len(size))})


def _public_largest(rank: int) -> Any:
    name = f"adaptive_max_pool{rank}d"
    return lambda ops, self, output_size: ops.adaptive_max_pool(
        self, spans.numbers(name, "output_size", output_size, rank))


for _rank in (1, 2, 3):
    composite(f"adaptive_avg_pool{_rank}d(Tensor self, any output_size) -> Tensor",
              _public_average(_rank), method=False, autocast="float32" if _rank == 3 else "",
              doc="The means of the parts that divide the last dimensions.")
    composite(f"adaptive_max_pool{_rank}d(Tensor self, any output_size) -> (Tensor, Tensor)",
              _public_largest(_rank), method=False, autocast="float32" if _rank == 3 else "",
              doc="The largest values of the parts, and their flat places.")
