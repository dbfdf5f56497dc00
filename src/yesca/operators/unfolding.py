"""Convolution as one product with patches: for small images with many channels.

`windows` computes between the ends of rows as well, which a small image has many of. Here each
kernel position's part of each channel is copied, and nothing is computed in vain:

    P ((C, positions), N * result)   what each position meets at each place of the output
    Y (O, N * result)                the output

    forward            Y = W P          W (O, (C, positions)) as it lies in memory
    input gradient     W^T Y, whose rows are added where they were read
    weight gradient    Y P^T

A weight is read as it lies, so nothing of its size is turned around; with few places this is most
of the work. `pays` says where the copies of patches are worth it.
"""

from __future__ import annotations

import itertools
import math
from typing import Any

from ..core.spec import contiguous_strides
from .kinds import compute_dtype
from .products import turned
from .windows import FEW_PAIRS, Windows, channels_first, finish, zeros

#: What an element of P costs, in nanoseconds of one core: a multiplication for an output channel,
#: the copy of an element, of a run of them, and, in the other way, that of an element of a weight.
MULTIPLIED, COPIED, RUN, TURNED = 0.02, 0.4, 8.0, 2.0


def pays(w: Windows) -> bool:
    """Whether what is saved, in products and in copies of the weight, is more than the copies."""
    inner, outer = w.per_group
    places = w.samples * math.prod(w.result)
    if inner * outer <= FEW_PAIRS or not places or w.parts[0] > 1:
        return False
    wasted = w.grid / places - 1
    return outer * (MULTIPLIED * wasted + TURNED / places) > COPIED + RUN / w.result[-1]


def lay_input(p: Any, w: Windows, x: Any, tail: bool = False) -> Any:
    """x (N, C, ...) as P, in the compute dtype."""
    wide = compute_dtype(x.spec.dtype)
    shape, rank = _padded(w), len(w.size)
    if any(w.padding) or x.spec.dtype is not wide:
        base = zeros(p, shape, wide) if any(w.padding) else p.temporary(shape, wide)
        p.flat(lambda v: v, [channels_first(x)], [_inside(w, base)])
    else:
        base = channels_first(x)
    steps = tuple(base.spec.strides)
    made = p.temporary((w.inputs, len(w.positions), w.samples * math.prod(w.result)), wide)
    view = (w.inputs, *w.kernel, w.samples, *w.result)
    read = (steps[0], *(steps[2 + d] * w.dilation[d] for d in range(rank)), steps[1],
            *(steps[2 + d] * w.stride[d] for d in range(rank)))
    p.flat(lambda v: v, [base.seen((view, read, 0))],
           [made.seen((view, contiguous_strides(view), 0))])
    return made


def _padded(w: Windows) -> tuple[int, ...]:
    return (w.inputs, w.samples, *(n + 2 * q for n, q in zip(w.size, w.padding, strict=True)))


def _inside(w: Windows, base: Any) -> Any:
    """A padded image without its padding."""
    steps = tuple(base.spec.strides)
    return base.seen(((w.inputs, w.samples, *w.size), steps,
                      sum(q * s for q, s in zip(w.padding, steps[2:], strict=True))))


def lay_output(p: Any, w: Windows, y: Any, tail: bool = False) -> Any:
    """y (N, O, ...) as Y, in the compute dtype."""
    shape = (w.outputs, w.samples, *w.result)
    made = p.temporary((w.outputs, w.samples * math.prod(w.result)), compute_dtype(y.spec.dtype))
    p.flat(lambda v: v, [channels_first(y)], [made.seen((shape, contiguous_strides(shape), 0))])
    return made


def _matrix(p: Any, w: Windows, weight: Any, wide: Any) -> Any:
    """The weight (G, O / G, (C / G, positions)); a copy if it lies otherwise."""
    inner, outer = w.per_group
    own = contiguous_strides(weight.spec.shape)
    if weight.spec.dtype is not wide or tuple(weight.spec.strides) != own:
        made = p.temporary(tuple(weight.spec.shape), wide)
        p.flat(lambda v: v, [weight], [made])
        weight = made
    shape = (w.groups, outer, inner * len(w.positions))
    return weight.seen((shape, contiguous_strides(shape), 0))


def _grouped(w: Windows, laid: Any, rows: int) -> Any:
    """P or Y, group by group."""
    shape = (w.groups, rows, laid.spec.shape[-1])
    return laid.seen((shape, contiguous_strides(shape), 0))


def forward(p: Any, w: Windows, laid: Any, weight: Any, made: Any, bias: Any) -> None:
    """made (N, O, ...) = W P, plus bias."""
    (inner, outer), wide = w.per_group, laid.spec.dtype
    places = laid.spec.shape[-1]
    rows = p.temporary((w.outputs, places), wide)
    p.product(_matrix(p, w, weight, wide), _grouped(w, laid, inner * len(w.positions)),
              _grouped(w, rows, outer))
    shape = (w.outputs, w.samples, *w.result)
    finish(p, channels_first(rows.seen((shape, contiguous_strides(shape), 0))), made, bias)


def input_gradient(p: Any, w: Windows, laid: Any, weight: Any, made: Any, bias: Any = None
                   ) -> None:
    """made (N, C, ...) = the rows of W^T Y, each added where its position reads, plus bias."""
    (inner, outer), wide = w.per_group, laid.spec.dtype
    count, places, rank = len(w.positions), laid.spec.shape[-1], len(w.size)
    patches = p.temporary((w.inputs, count, places), wide)
    p.product(turned(_matrix(p, w, weight, wide)), _grouped(w, laid, outer),
              _grouped(w, patches, inner * count))
    base = zeros(p, _padded(w), wide)
    steps, shape = tuple(base.spec.strides), (w.inputs, w.samples, *w.result)
    inside = contiguous_strides(shape[1:])
    across = (steps[0], steps[1], *(steps[2 + d] * w.stride[d] for d in range(rank)))
    for index, k in enumerate(itertools.product(*map(range, w.kernel))):
        first = sum(a * d * s for a, d, s in zip(k, w.dilation, steps[2:], strict=True))
        goal = base.seen((shape, across, first))
        part = patches.seen((shape, (count * places, *inside), index * places))
        p.flat(lambda v, more: v + more, [goal, part], [goal])
    finish(p, channels_first(_inside(w, base)), made, bias)


def weight_gradient(p: Any, w: Windows, laid: Any, rows: Any, made: Any) -> None:
    """made (O, C / G, ...) = Y P^T."""
    (inner, outer), wide = w.per_group, laid.spec.dtype
    shape = (w.groups, outer, inner * len(w.positions))
    own = contiguous_strides(made.spec.shape)
    plain = made.spec.dtype is wide and tuple(made.spec.strides) == own
    goal = made if plain else p.temporary(tuple(made.spec.shape), wide)
    p.product(_grouped(w, rows, outer), turned(_grouped(w, laid, shape[2])),
              goal.seen((shape, contiguous_strides(shape), 0)))
    if not plain:
        p.flat(lambda v: v, [goal], [made])


__all__ = ["forward", "input_gradient", "lay_input", "lay_output", "pays", "weight_gradient"]
