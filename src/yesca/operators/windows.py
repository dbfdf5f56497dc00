"""Convolution as products of shifted rows.

Both sides of a convolution are laid out as rows of one length, one row a channel, in which all
samples follow each other:

    X (phases, C, N * E)   the padded input, split by position modulo the stride
    Y (O, N * E)           the output, standing at the upper left of a grid of the same extents

so that the element of X that kernel position k meets at the output's place q is X[phase(k)][c,
q + shift(k)]: for every k a plain matrix product over rows that lie side by side. What the product
computes between the rows' ends is thrown away (forward) or is zero (backward).

    forward            Y += W[k] @ X[k]          input gradient     X[k] += W[k]^T @ Y
    weight gradient    W[k] += Y @ X[k]^T

Convolution, transposed convolution and their derivatives are these three.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ..base.caching import once
from ..core.dtypes import DType
from ..core.spec import contiguous_strides
from ..loops.ir import Expr, cast, const
from .kinds import compute_dtype

BLOCK_BYTES = 1 << 20  # what the rows of one product may take: they stay in the cache
LINE, PAGE_LINES = 16, 64  # float32 elements of a cache's line, lines of a page
MOST_STEPS = 256  # products of one launch, about: more blocks than that are joined
FEW_CHANNELS = 16  # below, kernel positions are stacked and multiplied at once


@dataclass(frozen=True)
class Windows:
    """The geometry: sizes without padding, and what the kernel's steps are."""

    samples: int
    groups: int
    inputs: int  # channels of X
    outputs: int  # channels of Y
    size: tuple[int, ...]  # spatial sizes of X
    result: tuple[int, ...]  # spatial sizes of Y
    kernel: tuple[int, ...]
    stride: tuple[int, ...]
    padding: tuple[int, ...]
    dilation: tuple[int, ...]

    @once
    def extents(self) -> tuple[int, ...]:
        """The grid that X's phases and Y both fit into."""
        return tuple(n + (k - 1) * d // s for n, k, d, s in
                     zip(self.result, self.kernel, self.dilation, self.stride, strict=True))

    @once
    def whole(self) -> int:
        """The elements from a row to the next: whole lines, and never whole pages, as rows that
        begin at the same place in their pages would share the sets of a cache."""
        lines = -(-self.samples * math.prod(self.extents) // LINE)
        return (lines + (lines % PAGE_LINES == 0)) * LINE

    @once
    def length(self) -> int:
        """The length of a row up to Y's last element."""
        place = [self.samples - 1, *(n - 1 for n in self.result)]
        steps = contiguous_strides((self.samples, *self.extents))
        return sum(a * b for a, b in zip(place, steps, strict=True)) + 1

    @once
    def positions(self) -> list[tuple[int, ...]]:
        """The kernel's positions."""
        return list(itertools.product(*(range(k) for k in self.kernel)))

    def phase(self, k: tuple[int, ...]) -> tuple[int, ...]:
        """Which phase of X a kernel position reads."""
        return tuple(a * d % s for a, d, s in zip(k, self.dilation, self.stride, strict=True))

    @once
    def phases(self) -> list[tuple[int, ...]]:
        """The phases that are read."""
        return sorted({self.phase(k) for k in self.positions})

    def shift(self, k: tuple[int, ...]) -> int:
        """How far along the row a kernel position reads."""
        steps = contiguous_strides(self.extents)
        return sum(a * d // s * t for a, d, s, t in
                   zip(k, self.dilation, self.stride, steps, strict=True))

    def part(self, phase: tuple[int, ...]) -> list[tuple[int, int, int]]:
        """Per dimension of a phase: its first place, the input's element there, how many."""
        made = []
        for f, s, p, n, e in zip(phase, self.stride, self.padding, self.size, self.extents,
                                 strict=True):
            first = max(0, -(-(p - f) // s))
            last = min(e - 1, (n - 1 + p - f) // s)
            made.append((first, first * s + f - p, max(0, last - first + 1)))
        return made

    @property
    def per_group(self) -> tuple[int, int]:
        """Channels of X and of Y in a group."""
        return self.inputs // self.groups, self.outputs // self.groups


# ---- the two layouts -------------------------------------------------------------------------

def zeros(p: Any, shape: Sequence[int], dtype: DType) -> Any:
    """A temporary of zeros."""
    made = p.temporary(shape, dtype)
    p.flat(lambda: const(0, dtype), [], [made])
    return made


def _phase_views(w: Windows, rows: Any, x: Any) -> list[tuple[Any, Any]]:
    """Pairs of equal views, (channels, N, ...): of a phase in `rows`, and of x."""
    made = []
    steps = contiguous_strides((w.samples, *w.extents))
    rank = len(w.size)
    for index, phase in enumerate(w.phases):
        parts = w.part(phase)
        shape = (w.inputs, w.samples, *(n for _, _, n in parts))
        start = index * w.inputs * w.whole + sum(
            a * t for (a, _, _), t in zip(parts, steps[1:], strict=True))
        inside = rows.seen((shape, (w.whole, *steps), start))
        own = x.spec.strides
        outside = x.seen((shape, (own[1], own[0], *(own[2 + d] * w.stride[d]
                                                    for d in range(rank))),
                          sum(i * own[2 + d] for d, (_, i, _) in enumerate(parts))))
        made.append((inside, outside))
    return made


def lay_input(p: Any, w: Windows, x: Any) -> Any:
    """x (N, C, ...) as X (phases, C, N * E), zero in the padding."""
    dtype = x.spec.dtype
    full = all(n == e for phase in w.phases for (_, _, n), e in
               zip(w.part(phase), w.extents, strict=True))
    shape = (len(w.phases), w.inputs, w.whole)
    made = p.temporary(shape, dtype) if full else zeros(p, shape, dtype)
    for inside, outside in _phase_views(w, made, x):
        p.flat(lambda v: v, [outside], [inside])
    return made


def _output_view(w: Windows, rows: Any) -> Any:
    """Y's elements in the grid, as (N, O, ...)."""
    steps = contiguous_strides((w.samples, *w.extents))
    return rows.seen(((w.samples, w.outputs, *w.result), (steps[0], w.whole, *steps[1:]), 0))


def lay_output(p: Any, w: Windows, y: Any) -> Any:
    """y (N, O, ...) as Y (O, N * E), zero beyond the output's sizes."""
    full = w.extents == w.result
    shape = (w.outputs, w.whole)
    made = p.temporary(shape, y.spec.dtype) if full else zeros(p, shape, y.spec.dtype)
    p.flat(lambda v: v, [y], [_output_view(w, made)])
    return made


def lay_weight(p: Any, w: Windows, weight: Any, stacked: bool) -> Any:
    """weight (O, C / G, ...) as (K, O, C / G), or stacked (O, K, C / G)."""
    count, (inner, _) = len(w.positions), w.per_group
    made = p.temporary((w.outputs, count, inner) if stacked else (count, w.outputs, inner),
                       weight.spec.dtype)
    p.flat(lambda v: v, [weight], [weight_view(w, made, stacked)])
    return made


def weight_view(w: Windows, laid: Any, stacked: bool) -> Any:
    """The laid-out weight seen as (O, C / G, ...)."""
    count, (inner, _) = len(w.positions), w.per_group
    steps = tuple(contiguous_strides(w.kernel))
    if stacked:
        return laid.seen(((w.outputs, inner, *w.kernel),
                          (count * inner, 1, *(s * inner for s in steps)), 0))
    return laid.seen(((w.outputs, inner, *w.kernel),
                      (inner, 1, *(s * w.outputs * inner for s in steps)), 0))


# ---- pieces of rows --------------------------------------------------------------------------

def _blocks(w: Windows, rows: int, itemsize: int, steps: int) -> list[tuple[int, int]]:
    """(first, length) of the pieces of a row."""
    piece = max(1024, BLOCK_BYTES // max(rows * itemsize, 1) // 64 * 64)
    fewest = -(-w.length * max(steps, 1) // MOST_STEPS)
    piece = max(piece, -(-fewest // 64) * 64)
    return [(start, min(piece, w.length - start)) for start in range(0, w.length, piece)]


def _input_piece(w: Windows, laid: Any, k: tuple[int, ...], start: int, count: int) -> Any:
    """What kernel position k reads: (G, C / G, count)."""
    inner, _ = w.per_group
    begin = w.phases.index(w.phase(k)) * w.inputs * w.whole + w.shift(k) + start
    return laid.seen(((w.groups, inner, count), (inner * w.whole, w.whole, 1), begin))


def _output_piece(w: Windows, laid: Any, start: int, count: int) -> Any:
    _, outer = w.per_group
    return laid.seen(((w.groups, outer, count), (outer * w.whole, w.whole, 1), start))


def _weight_piece(w: Windows, laid: Any, index: int) -> Any:
    inner, outer = w.per_group
    return laid.seen(((w.groups, outer, inner), (outer * inner, inner, 1),
                      index * w.outputs * inner))


def _turned(ref: Any) -> Any:
    (g, m, n), (a, b, c) = ref.spec.shape, ref.spec.strides
    return ref.seen(((g, n, m), (a, c, b), 0))


def stacks(w: Windows) -> bool:
    """Whether the kernel's positions are stacked into one product."""
    return w.per_group[0] < FEW_CHANNELS and len(w.positions) > 1


def _grids(w: Windows) -> list[tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]]:
    """Kernel positions by phase, each a grid: the first, how many, how far apart."""
    made = []
    for phase in w.phases:
        axes = [[a for a in range(k) if a * d % s == f] for k, d, s, f in
                zip(w.kernel, w.dilation, w.stride, phase, strict=True)]
        made.append((tuple(a[0] for a in axes), tuple(len(a) for a in axes),
                     tuple(a[1] - a[0] if len(a) > 1 else 1 for a in axes)))
    return made


def _shifted(w: Windows, laid: Any, grid: Any, start: int, count: int) -> Any:
    """What all positions of a grid read: (*grid, G, C / G, count)."""
    inner, _ = w.per_group
    first, many, apart = grid
    jumps = [a * d // s * t for a, d, s, t in
             zip(apart, w.dilation, w.stride, contiguous_strides(w.extents), strict=True)]
    begin = w.phases.index(w.phase(first)) * w.inputs * w.whole + w.shift(first) + start
    return laid.seen(((*many, w.groups, inner, count), (*jumps, inner * w.whole, w.whole, 1),
                      begin))


def _stack(p: Any, w: Windows, laid: Any, made: Any, start: int, count: int) -> None:
    """The shifted rows of all kernel positions: (G, K, C / G, count) into `made`."""
    inner, _ = w.per_group
    total = len(w.positions)
    kernel_steps = contiguous_strides(w.kernel)
    for grid in _grids(w):
        first, many, apart = grid
        source = _shifted(w, laid, grid, start, count)
        width = made.spec.shape[-1]
        target = made.seen(((*many, w.groups, inner, count), (
            *(a * s * inner * width for a, s in zip(apart, kernel_steps, strict=True)),
            total * inner * width, width, 1),
            sum(f * s for f, s in zip(first, kernel_steps, strict=True)) * inner * width))
        p.flat(lambda v: v, [source], [target])


# ---- the three products ----------------------------------------------------------------------

def forward(p: Any, w: Windows, x: Any, weight: Any, made: Any, bias: Any) -> None:
    """made (N, O, ...) = the convolution of x, plus bias."""
    laid = lay_input(p, w, x)
    rows = p.temporary((w.outputs, w.whole), compute_dtype(x.spec.dtype))
    inner, _ = w.per_group
    item = x.spec.dtype.itemsize
    if stacks(w):
        total = len(w.positions) * inner
        kernel = lay_weight(p, w, weight, stacked=True).seen(
            ((w.groups, w.per_group[1], total), (w.per_group[1] * total, total, 1), 0))
        pieces = _blocks(w, w.groups * total + w.outputs, item, 1)
        stack = p.temporary((w.groups, total, pieces[0][1]), x.spec.dtype)
        for start, count in pieces:
            _stack(p, w, laid, stack, start, count)
            p.product(kernel, _columns(stack, count), _output_piece(w, rows, start, count))
    else:
        kernel = lay_weight(p, w, weight, stacked=False)
        for start, count in _blocks(w, w.inputs + w.outputs, item, len(w.positions)):
            into = _output_piece(w, rows, start, count)
            for index, k in enumerate(w.positions):
                p.product(_weight_piece(w, kernel, index), _input_piece(w, laid, k, start, count),
                          into, initial=into if index else None)
    finish(p, _output_view(w, rows), made, bias)


def _columns(stack: Any, count: int) -> Any:
    groups, total, _ = stack.spec.shape
    return stack.seen(((groups, total, count), stack.spec.strides, 0))


def finish(p: Any, rows: Any, made: Any, bias: Any) -> None:
    """made = rows + bias, rounded once."""
    wide = rows.spec.dtype
    if bias is None:
        p.flat(lambda v: v, [rows], [made])
        return
    p.flat(lambda v, b: v + cast(b, wide), [rows, _along(bias, made.spec.ndim)], [made])


def _along(bias: Any, ndim: int) -> Any:
    """The bias, so that it broadcasts along the channels."""
    return bias.seen(((1, bias.spec.shape[0], *(1,) * (ndim - 2)),
                      (0, bias.spec.strides[0], *(0,) * (ndim - 2)), 0))


def fill(p: Any, made: Any, bias: Any) -> None:
    """made = bias, or zeros: the convolution of nothing."""
    if bias is None:
        p.flat(lambda: const(0, made.spec.dtype), [], [made])
    else:
        p.flat(lambda b: b, [_along(bias, made.spec.ndim)], [made])


def input_gradient(p: Any, w: Windows, y: Any, weight: Any, made: Any, bias: Any = None) -> None:
    """made (N, C, ...) = what each element of x contributes to y's gradient, plus bias."""
    rows = zeros(p, (len(w.phases), w.inputs, w.whole), compute_dtype(y.spec.dtype))
    laid = lay_output(p, w, y)
    kernel = lay_weight(p, w, weight, stacked=False)
    for start, count in _blocks(w, w.inputs + w.outputs, y.spec.dtype.itemsize,
                                len(w.positions)):
        for index, k in enumerate(w.positions):
            into = _input_piece(w, rows, k, start, count)
            p.product(_turned(_weight_piece(w, kernel, index)),
                      _output_piece(w, laid, start, count), into, initial=into)
    if _misses(w):
        fill(p, made, bias)
    for inside, outside in _phase_views(w, rows, made):
        finish(p, _samples_first(inside), _samples_first(outside), bias)


def _misses(w: Windows) -> bool:
    """Whether some elements of x are read by no kernel position."""
    covered = sum(math.prod(n for _, _, n in w.part(phase)) for phase in w.phases)
    return covered < math.prod(w.size)


def _samples_first(ref: Any) -> Any:
    shape, steps = tuple(ref.spec.shape), tuple(ref.spec.strides)
    return ref.seen(((shape[1], shape[0], *shape[2:]), (steps[1], steps[0], *steps[2:]), 0))


def weight_gradient(p: Any, w: Windows, x: Any, y: Any, made: Any) -> None:
    """made (O, C / G, ...): y's rows against the shifted rows of x."""
    laid, rows = lay_input(p, w, x), lay_output(p, w, y)
    wide = compute_dtype(x.spec.dtype)
    inner, outer = w.per_group
    count, item = len(w.positions), x.spec.dtype.itemsize
    if stacks(w):
        kernel = zeros(p, (w.outputs, count, inner), wide)
        total = count * inner
        pieces = _blocks(w, w.groups * total + w.outputs, item, 1)
        stack = p.temporary((w.groups, total, pieces[0][1]), x.spec.dtype)
        into = kernel.seen(((w.groups, outer, total), (outer * total, total, 1), 0))
        for start, many in pieces:
            _stack(p, w, laid, stack, start, many)
            p.product(_output_piece(w, rows, start, many), _turned(_columns(stack, many)), into,
                      initial=into)
        p.flat(lambda v: v, [weight_view(w, kernel, stacked=True)], [made])
        return
    turned = zeros(p, (count, w.inputs, outer), wide)
    for start, many in _blocks(w, w.inputs + w.outputs, item, count):
        for grid in _grids(w):
            _add_outer_products(p, w, laid, rows, turned, grid, start, many)
    steps, own = contiguous_strides(w.kernel), made.spec.strides
    shape = (w.groups, outer, inner, *w.kernel)
    source = turned.seen((shape, (inner * outer, 1, outer,
                                  *(s * w.inputs * outer for s in steps)), 0))
    p.flat(lambda v: v, [source], [made.seen((shape, (outer * own[0], *own), 0))])


def _add_outer_products(p: Any, w: Windows, laid: Any, rows: Any, made: Any, grid: Any,
                        start: int, many: int) -> None:
    """made (K, C, O / G) += the shifted rows of x against a piece of y's, one product for all
    positions of a grid: y's rows are packed once for them, x's are read where they lie."""
    inner, outer = w.per_group
    source = _shifted(w, laid, grid, start, many)
    ones = (1,) * len(w.kernel)
    right = rows.seen(((*ones, w.groups, many, outer),
                       (*(0,) * len(ones), outer * w.whole, 1, w.whole), start))
    first, counts, apart = grid
    steps = [s * w.inputs * outer for s in contiguous_strides(w.kernel)]
    into = made.seen(((*counts, w.groups, inner, outer),
                      (*(a * s for a, s in zip(apart, steps, strict=True)),
                       inner * outer, outer, 1),
                      sum(f * s for f, s in zip(first, steps, strict=True))))
    p.product(source, right, into, initial=into)


def bias_gradient(p: Any, y: Any, made: Any) -> None:
    """made (O) = y summed over all but its channels."""
    wide = compute_dtype(y.spec.dtype)
    dims = (0, *range(2, y.spec.ndim))

    def before(v: Expr) -> Expr:
        return cast(v, wide)

    p.reduce("sum", before, lambda v: v, y, dims, made)


__all__ = ["Windows", "bias_gradient", "fill", "forward", "input_gradient", "weight_gradient"]
