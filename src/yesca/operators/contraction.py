"""Contractions over named dimensions: einsum, tensordot, inner, and the record they share.

`contraction(a, b, left, right, out)` multiplies two tensors whose dimensions carry labels and sums
over the labels that are not in `out`. It is one product: labels in all three are the batch, the
others are rows, columns and the inner dimension. Operands are read where they lie unless a group of
dimensions cannot be stepped through as one. The gradient is a contraction again.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from ..core.spec import contiguous_strides, spec
from ..core.views import view_strides, wrap_dim
from .kinds import composite, rows
from .products import same_scalars

Labels = tuple[int, ...]


def _strides_as_one(ref: Any, labels: Labels, group: Labels) -> tuple[int, int] | None:
    """(size, stride) of the dimensions `group` joined in this order; None if they cannot be."""
    shape = tuple(ref.spec.shape[labels.index(g)] for g in group)
    strides = tuple(ref.spec.strides[labels.index(g)] for g in group)
    size = math.prod(shape)
    if size <= 1:
        return size, 1
    steps = view_strides(shape, strides, (size,))
    return None if steps is None else (size, steps[0])


def _grouped(p: Any, ref: Any, labels: Labels, batch: Labels, first: Labels, second: Labels
             ) -> Any:
    """The operand as (*batch, first, second), copied if a group does not join."""
    joins = [_strides_as_one(ref, labels, group) for group in (first, second)]
    if None in joins:
        order = [labels.index(g) for g in (*batch, *first, *second)]
        moved = ref.seen((tuple(ref.spec.shape[d] for d in order),
                          tuple(ref.spec.strides[d] for d in order), 0))
        dense = p.temporary(tuple(moved.spec.shape), ref.spec.dtype)
        p.flat(lambda v: v, [moved], [dense])
        ref, labels = dense, (*batch, *first, *second)
        joins = [_strides_as_one(ref, labels, group) for group in (first, second)]
    places = [labels.index(g) for g in batch]
    return ref.seen(((*(ref.spec.shape[d] for d in places), *(j[0] for j in joins if j)),
                     (*(ref.spec.strides[d] for d in places), *(j[1] for j in joins if j)), 0))


def _inner_order(a: Any, b: Any, left: Labels, right: Labels, out: Labels) -> Labels:
    """The summed labels in the order in which the fewest operands must be copied."""
    orders = [tuple(g for g in labels if g in left and g in right and g not in out)
              for labels in (left, right)]

    def copies(order: Labels) -> int:
        joins = _strides_as_one(a, left, order), _strides_as_one(b, right, order)
        return joins.count(None)

    return min(orders, key=copies)


def _contraction(p: Any, self: Any, other: Any, left: Labels, right: Labels, out: Labels) -> None:
    same_scalars(self, other)
    sizes = {**dict(zip(left, self.spec.shape, strict=True)),
             **dict(zip(right, other.spec.shape, strict=True))}
    batch = tuple(g for g in out if g in left and g in right)
    rows_ = tuple(g for g in out if g not in right)
    columns = tuple(g for g in out if g not in left)
    inner = _inner_order(self, other, left, right, out)
    a = _grouped(p, self, left, batch, rows_, inner)
    b = _grouped(p, other, right, batch, inner, columns)
    order = (*batch, *rows_, *columns)
    steps = contiguous_strides(tuple(sizes[g] for g in order))
    made = p.result(spec(self.spec.dtype, tuple(sizes[g] for g in out),
                         tuple(steps[order.index(g)] for g in out), p.device))
    shape = (*(sizes[g] for g in batch), a.spec.shape[-2], b.spec.shape[-1])
    p.product(a, b, made.seen((shape, contiguous_strides(shape), 0)))


rows("contraction(Tensor self, Tensor other, any left, any right, any out) -> Tensor",
     _contraction, kind="contraction", autocast="lower", method=False, node_name="ViewBackward0",
     backward={"self": lambda ops, grad, other, left, right, out: ops.contraction(
                   grad, other, out, right, left),
               "other": lambda ops, grad, self, left, right, out: ops.contraction(
                   self, grad, left, out, right)},
     doc="Two tensors whose dimensions carry labels, multiplied and summed over labels not in out.")


def pair(ops: Any, a: Any, b: Any, left: Labels, right: Labels, out: Labels) -> Any:
    """Like the record, for any labels: what only one operand has and `out` lacks is summed first.

    Dimensions of size 1 broadcast. Products that sum nothing are elementwise ones.
    """
    a, left = _without_ones(ops, a, left, b, right)
    b, right = _without_ones(ops, b, right, a, left)
    a, left = _presummed(ops, a, left, right, out)
    b, right = _presummed(ops, b, right, left, out)
    missing = tuple(g for g in out if g not in left and g not in right)
    rest = tuple(g for g in out if g not in missing)
    if any(g not in rest for g in left if g in right):
        made = ops.contraction(a, b, left, right, rest)
    else:
        made = ops.mul(_aligned(ops, a, left, rest), _aligned(ops, b, right, rest))
    for k, g in enumerate(out):
        if g in missing:
            made = ops.unsqueeze(made, k)
    return made


def _without_ones(ops: Any, a: Any, left: Labels, b: Any, right: Labels) -> tuple[Any, Labels]:
    """Drop dimensions of size 1 that the other operand has in full."""
    sizes = dict(zip(right, b.shape, strict=True))
    for d in reversed(range(len(left))):
        if a.shape[d] == 1 and sizes.get(left[d], 1) != 1:
            a, left = ops.squeeze(a, d), (*left[:d], *left[d + 1:])
    return a, left


def _presummed(ops: Any, a: Any, left: Labels, right: Labels, out: Labels) -> tuple[Any, Labels]:
    own = tuple(d for d, g in enumerate(left) if g not in right and g not in out)
    if not own:
        return a, left
    return ops.sum(a, own, dtype=a.dtype), tuple(g for d, g in enumerate(left) if d not in own)


def _aligned(ops: Any, a: Any, labels: Labels, out: Labels) -> Any:
    """Dimensions in the order of `out`, with a size of 1 where a label is missing."""
    order = tuple(labels.index(g) for g in out if g in labels)
    if order != tuple(range(len(order))):
        a = ops.permute(a, order)
    for k, g in enumerate(out):
        if g not in labels:
            a = ops.unsqueeze(a, k)
    return a


# ---- tensordot, inner ------------------------------------------------------------------------

def _tensordot(ops: Any, a: Any, b: Any, dims: Any) -> Any:
    if not isinstance(dims, int):
        if not isinstance(dims, (tuple, list)) and (not ops.is_tensor(dims) or dims.dim() == 0):
            raise RuntimeError("tensordot expects dims to be int or tuple[list[int], list[int]] or "
                               "list[list[int]] containing two lists, got dims=" + str(dims))
        if len(dims) == 1 or not len(dims):
            raise RuntimeError("tensordot expects dims to be an int or two lists of dimensions")
        first, second = (tuple(d) if isinstance(d, (tuple, list)) else
                         (d,) if isinstance(d, int) else tuple(d.tolist()) for d in dims)
    else:
        if dims < 0:
            raise RuntimeError(f"tensordot expects dims >= 0, but got dims={dims}")
        if dims > min(a.dim(), b.dim()):
            raise RuntimeError(f"tensordot expects dims < ndim_a or ndim_b, but got dims={dims}")
        first, second = tuple(range(-dims, 0)), tuple(range(dims))
    if len(first) != len(second):
        raise RuntimeError("both dimension lists should have same length")
    if a.dtype is not b.dtype:
        raise RuntimeError("both inputs should have same dtype")
    one, two = _dims(first, a.dim()), _dims(second, b.dim())
    for k, (d, e) in enumerate(zip(one, two, strict=True)):
        m, n = a.shape[d], b.shape[e]
        if m != n and 1 not in (m, n):
            raise RuntimeError(f"contracted dimensions need to match, but first has size {m} in "
                               f"dim {first[k]} and second has size {n} in dim {second[k]}")
    left = tuple(range(a.dim()))
    right = tuple(one[two.index(d)] if d in two else a.dim() + d for d in range(b.dim()))
    out = tuple(g for g in left if g not in one) + tuple(
        g for d, g in enumerate(right) if d not in two)
    order = tuple(right.index(g) for g in left if g in right)
    if left and not out and tuple(a.shape) == tuple(b.shape[d] for d in order):
        if order != left:
            b = ops.permute(b, order)
        # PyTorch's way, which autocast leaves alone
        return ops.view(ops.dot(ops.reshape(a, (-1,)), ops.reshape(b, (-1,))), ())
    return pair(ops, a, b, left, right, out)


def _dims(dims: Sequence[int], ndim: int) -> list[int]:
    made = [wrap_dim(d, ndim) for d in dims]
    for d in made:
        if made.count(d) > 1:
            raise RuntimeError(f"dim {d} appears multiple times in the list of dims")
    return made


composite("tensordot(Tensor a, Tensor b, any dims=2) -> Tensor", _tensordot, out=True,
          method=False, doc="Summed over `dims` pairs of dimensions: a number, or two lists.")


def _inner(ops: Any, self: Any, other: Any) -> Any:
    if self.dim() == 0 or other.dim() == 0:
        return ops.mul(self, other)
    if self.shape[-1] != other.shape[-1]:
        raise RuntimeError("inner() the last dimension must match on both input tensors but got "
                           f"shapes {list(self.shape)} and {list(other.shape)}")
    return _tensordot(ops, self, other, ((-1,), (-1,)))


composite("inner(Tensor self, Tensor other) -> Tensor", _inner, out=True,
          doc="Sums of products over the last dimension of both.")

__all__ = ["pair"]
