"""Convolution as products of shifted rows.

Both sides of a convolution are laid out as rows of one length, one row a channel, in which all
samples follow each other:

    X (phases, C, N * E)   the padded input, split by position modulo the stride
    Y (O, N * E)           the output, standing at the upper left of a grid of the same extents

so that the element of X that kernel position k meets at the output's place q is X[phase(k)][c,
q + shift(k)]. Each of the three is one product, whose operand lies in pieces: the rows of X for
each kernel position, or those of Y for each position that meets a phase, so far along. The kernel
copies what it needs next of each piece close to its core (`targets/products_micro.py`). What is
computed between the rows' ends is thrown away (forward) or is zero (backward).

    forward            Y[o, q] = sum over (k, c)   W[o, (k, c)] X[k][c, q + shift(k)]
    input gradient     X[f][c, q] = sum over (k, o)   W[c, (k, o)] Y[o, q - shift(k)]
    weight gradient    W[(k, c), o] = sum over q   X[k][c, q + shift(k)] Y[o, q]

A weight has few elements, each a long sum: the sum is cut into `parts`, by sizes only.

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

LINE, PAGE_LINES = 16, 64  # float32 elements of a cache's line, lines of a page
PARTS = 20  # into which long sums are cut where the elements of a weight are few,
PART_ELEMENTS = 1 << 14  # ... of a weight, as many as one part should have,
PART_STEPS = 1 << 10  # and the fewest steps of its sum
FEW_PAIRS = 4  # of channels in a group: no matrix to speak of, but dot products


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
    def grid(self) -> int:
        """The elements of a row, all samples."""
        return self.samples * math.prod(self.extents)

    @once
    def whole(self) -> int:
        """The elements from a row to the next."""
        parts, steps = self.parts
        return _apart(max(self.grid, parts * steps + self.shift(self.positions[-1])))

    @once
    def margin(self) -> int:
        """Zeros before a row of Y: what positions meet that stand before the first place."""
        return self.shift(self.positions[-1])

    @once
    def parts(self) -> tuple[int, int]:
        """Into how many parts the sums of a weight's gradient are cut, and the steps of each."""
        inner, outer = self.per_group
        tiles = self.groups * -(-len(self.positions) * inner * outer // PART_ELEMENTS)
        count = max(1, min(-(-PARTS // tiles), self.length // PART_STEPS))
        return count, -(-self.length // (count * LINE)) * LINE if count > 1 else self.length

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


def _apart(elements: int) -> int:
    """How far apart rows of so many elements begin: whole lines, and never whole pages, as rows
    that begin at the same place in their pages would share the sets of a cache."""
    lines = -(-elements // LINE)
    return (lines + (lines % PAGE_LINES == 0)) * LINE


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


def _rows(p: Any, shape: tuple[int, ...], dtype: DType, used: int, full: bool, tail: bool) -> Any:
    """A temporary for rows of which `used` elements get values, all of them if `full`.

    The others are zeros; those beyond `used` only if somebody reads the `tail`.
    """
    if not full:
        return zeros(p, shape, dtype)
    made = p.temporary(shape, dtype)
    if tail and used < shape[-1]:
        steps = contiguous_strides(shape)
        rest = made.seen(((*shape[:-1], shape[-1] - used), steps, used))
        p.flat(lambda: const(0, dtype), [], [rest])
    return made


def lay_input(p: Any, w: Windows, x: Any, tail: bool = False) -> Any:
    """x (N, C, ...) as X (phases, C, N * E) in the compute dtype, zero in the padding."""
    full = all(n == e for phase in w.phases for (_, _, n), e in
               zip(w.part(phase), w.extents, strict=True))
    made = _rows(p, (len(w.phases), w.inputs, w.whole), compute_dtype(x.spec.dtype), w.grid, full,
                 tail and w.parts[0] > 1)
    for inside, outside in _phase_views(w, made, x):
        p.flat(lambda v: v, [outside], [inside])
    return made


def _output_view(w: Windows, rows: Any, margin: int = 0) -> Any:
    """Y's elements in the grid, as (N, O, ...)."""
    steps = contiguous_strides((w.samples, *w.extents))
    return rows.seen(((w.samples, w.outputs, *w.result),
                      (steps[0], rows.spec.shape[-1], *steps[1:]), margin))


def lay_output(p: Any, w: Windows, y: Any, tail: bool = False) -> Any:
    """y (N, O, ...) as Y (O, margin + N * E), zero beyond the output's sizes."""
    made = _rows(p, (w.outputs, _apart(w.margin + w.whole)), compute_dtype(y.spec.dtype), w.grid,
                 w.extents == w.result, tail and w.parts[0] > 1)
    p.flat(lambda v: v, [y], [_output_view(w, made, w.margin)])
    return made


# ---- pieces of rows --------------------------------------------------------------------------

def _starts(w: Windows) -> list[int]:
    """Where in X each kernel position begins to read."""
    return [w.phases.index(w.phase(k)) * w.inputs * w.whole + w.shift(k) for k in w.positions]


def _grids(w: Windows) -> list[tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]]:
    """Kernel positions by phase, each a grid: the first, how many, how far apart."""
    made = []
    for phase in w.phases:
        axes = [[a for a in range(k) if a * d % s == f] for k, d, s, f in
                zip(w.kernel, w.dilation, w.stride, phase, strict=True)]
        made.append((tuple(a[0] for a in axes), tuple(len(a) for a in axes),
                     tuple(a[1] - a[0] if len(a) > 1 else 1 for a in axes)))
    return made


# ---- the three products ----------------------------------------------------------------------

def forward(p: Any, w: Windows, laid: Any, weight: Any, made: Any, bias: Any) -> None:
    """made (N, O, ...) = the convolution of X, plus bias."""
    wide, (inner, outer) = laid.spec.dtype, w.per_group
    count = len(w.positions)
    rows, kernel = p.temporary((w.outputs, w.whole), wide), p.temporary(
        (w.groups, outer, count * inner), wide)
    p.flat(lambda v: v, [weight], [kernel.seen((
        (w.outputs, inner, *w.kernel),
        (count * inner, 1, *(s * inner for s in contiguous_strides(w.kernel))), 0))])
    apart = (w.whole, 1)
    p.gathered(kernel, laid.seen(((w.groups, inner, w.length), (inner * w.whole, *apart), 0)),
               rows.seen(((w.groups, outer, w.length), (outer * w.whole, *apart), 0)),
               steps=_starts(w))
    finish(p, _output_view(w, rows), made, bias)


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


def input_gradient(p: Any, w: Windows, laid: Any, weight: Any, made: Any, bias: Any = None
                   ) -> None:
    """made (N, C, ...) = what each element of x contributes to Y's gradient, plus bias."""
    rows = p.temporary((len(w.phases), w.inputs, w.whole), laid.spec.dtype)
    for index, grid in enumerate(_grids(w)):
        _phase_gradient(p, w, laid, weight, rows.moved(index * w.inputs * w.whole), grid)
    if _misses(w):
        fill(p, made, bias)
    for inside, outside in _phase_views(w, rows, made):
        finish(p, channels_first(inside), channels_first(outside), bias)


def _phase_gradient(p: Any, w: Windows, laid: Any, weight: Any, rows: Any, grid: Any) -> None:
    """A phase of X, from the kernel positions that read it."""
    (first, many, apart), (inner, outer) = grid, w.per_group
    count, own, pitch = math.prod(many), weight.spec.strides, laid.spec.shape[-1]
    kernel = p.temporary((w.groups, inner, count * outer), laid.spec.dtype)
    shape = (w.groups, outer, inner, *many)
    source = weight.seen((shape, (outer * own[0], own[0], own[1], *(
        s * a for s, a in zip(own[2:], apart, strict=True))),
        sum(s * f for s, f in zip(own[2:], first, strict=True))))
    p.flat(lambda v: v, [source], [kernel.seen((shape, (
        inner * count * outer, 1, count * outer,
        *(s * outer for s in contiguous_strides(many))), 0))])
    places = itertools.product(*(range(f, f + n * a, a) for f, n, a in
                                 zip(first, many, apart, strict=True)))
    p.gathered(kernel, laid.seen(((w.groups, outer, w.grid), (outer * pitch, pitch, 1), 0)),
               rows.seen(((w.groups, inner, w.grid), (inner * w.whole, w.whole, 1), 0)),
               steps=[w.margin - w.shift(k) for k in places])


def _misses(w: Windows) -> bool:
    """Whether some elements of x are read by no kernel position."""
    covered = sum(math.prod(n for _, _, n in w.part(phase)) for phase in w.phases)
    return covered < math.prod(w.size)


def channels_first(ref: Any) -> Any:
    """(N, C, ...) as (C, N, ...), and back."""
    shape, steps = tuple(ref.spec.shape), tuple(ref.spec.strides)
    return ref.seen(((shape[1], shape[0], *shape[2:]), (steps[1], steps[0], *steps[2:]), 0))


def weight_gradient(p: Any, w: Windows, laid: Any, rows: Any, made: Any) -> None:
    """made (O, C / G, ...): X's rows against Y's."""
    inner, outer = w.per_group
    if inner * outer <= FEW_PAIRS:
        for grid in _grids(w):
            _dots(p, w, laid, rows, made, grid)
        return
    (parts, steps), count, pitch = w.parts, len(w.positions), rows.spec.shape[-1]
    sums = p.temporary((parts, w.groups, count * inner, outer), laid.spec.dtype)
    p.gathered(
        laid.seen(((parts, w.groups, inner, steps), (steps, inner * w.whole, w.whole, 1), 0)),
        rows.seen(((parts, w.groups, steps, outer), (steps, outer * pitch, 1, pitch), w.margin)),
        sums, rows=_starts(w))
    own = made.spec.strides
    shape = (w.groups, outer, inner, *w.kernel)
    one = inner * outer
    source = sums.seen(((*shape, parts), (
        count * one, 1, outer, *(s * one for s in contiguous_strides(w.kernel)),
        w.groups * count * one), 0))
    p.reduce("sum", lambda v: v, lambda v: v, source, (len(shape),),
             made.seen((shape, (outer * own[0], *own), 0)))


def _dots(p: Any, w: Windows, laid: Any, rows: Any, made: Any, grid: Any) -> None:
    """The gradient of a phase's weights, each a dot product of two rows."""
    (first, many, apart), (inner, outer) = grid, w.per_group
    pitch, own, ones = rows.spec.shape[-1], made.spec.strides, (1,) * len(w.kernel)
    jumps = [a * d // s * t for a, d, s, t in
             zip(apart, w.dilation, w.stride, contiguous_strides(w.extents), strict=True)]
    begin = w.phases.index(w.phase(first)) * w.inputs * w.whole + w.shift(first)
    left = laid.seen(((w.groups, 1, inner, *many, w.length),
                      (inner * w.whole, 0, w.whole, *jumps, 1), begin))
    right = rows.seen(((w.groups, outer, 1, *ones, w.length),
                       (outer * pitch, pitch, 0, *(0 for _ in ones), 1), w.margin))
    shape = (w.groups, outer, inner, *many)
    into = made.seen((shape, (outer * own[0], own[0], own[1], *(
        s * a for s, a in zip(own[2:], apart, strict=True))),
        sum(s * f for s, f in zip(own[2:], first, strict=True))))
    p.reduce("sum", lambda x, y: x * y, lambda v: v, (left, right), (len(shape),), into)


def bias_gradient(p: Any, y: Any, made: Any) -> None:
    """made (O) = y summed over all but its channels."""
    wide = compute_dtype(y.spec.dtype)
    dims = (0, *range(2, y.spec.ndim))

    def before(v: Expr) -> Expr:
        return cast(v, wide)

    p.reduce("sum", before, lambda v: v, y, dims, made)


__all__ = ["Windows", "bias_gradient", "channels_first", "fill", "forward", "input_gradient",
           "weight_gradient"]
