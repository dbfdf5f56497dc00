"""Bags of embeddings: rows of a table summed, averaged or maximised by group."""

from __future__ import annotations

from typing import Any

from ..core.dtypes import SCALAR_NAMES, bfloat16, float16, float32, float64, int32, int64, promote
from ..core.spec import spec
from ..loops import ir
from ..loops.ir import Expr, cast, const
from ..loops.scalar import where
from . import places
from .embeddings import table_gradient
from .kinds import composite, rows

_MODES = ("sum", "mean", "max")


# ---- what is refused -------------------------------------------------------------------------

def _check_dtypes(weight: Any, indices: Any, offsets: Any, per_sample_weights: Any) -> None:
    common, dtype = promote(indices.dtype, offsets.dtype), weight.dtype
    if common not in (int32, int64):
        _refuse("'indices'", "Long, Int", common)
    if dtype not in (float16, bfloat16, float32, float64):
        _refuse("'weight'", "Half, BFloat16, Float, Double", dtype)
    if per_sample_weights is not None and per_sample_weights.dtype is not dtype:
        names = f"torch.{SCALAR_NAMES[dtype]}Tensor does not equal " \
                f"torch.{SCALAR_NAMES[per_sample_weights.dtype]}Tensor"
        raise RuntimeError(
            "Expected tensor for argument #1 'weight' to have the same type as tensor for argument "
            f"#1 'per_sample_weights'; but type {names} (while checking arguments for "
            "embedding_bag)")


def _refuse(argument: str, wanted: str, found: Any) -> None:
    raise RuntimeError(f"Expected tensor for argument #1 {argument} to have one of the following "
                       f"scalar types: {wanted}; but got torch.{SCALAR_NAMES[found]}Tensor instead "
                       "(while checking arguments for embedding_bag)")


def _padding_row(padding_idx: int | None, count: int) -> int:
    """The row that counts for nothing, or -1."""
    if padding_idx is None:
        return -1
    if not -count <= padding_idx < count:
        raise RuntimeError(f"padding_idx must be within the number of embeddings, -{count} through "
                           f"{count - 1}, but got {padding_idx}")
    return padding_idx % count


def _starts(p: Any, offsets: Any, count: int) -> None:
    """Where bags start among so many indices: at 0 first, and then where they may."""
    (size,), (step,) = offsets.spec.shape, offsets.spec.strides
    out = p.result(spec(int64, (size,), None, p.device))

    def not_zero(value: int) -> None:
        raise RuntimeError("offsets[0] has to be 0, i.e., the first sequence in the mini-batch has "
                           f"to start from position 0. However, got {value}")

    def too_large(value: int) -> None:
        raise RuntimeError(f"offsets[-1] can not be greater than input's length {count} but got "
                           f"offsets[-1] of {value}")

    def unsorted(value: int) -> None:
        raise RuntimeError("offsets have to be in ascending order, so that no bag ends before it "
                           f"starts, but {value} follows a larger one")

    def first(x: Expr) -> Expr:
        p.check(x.eq(0), cast(x, int64), not_zero)
        return cast(x, int64)

    def later(x: Expr, before: Expr) -> Expr:
        p.check(cast(x, int64) <= p.fixed(count, int64), cast(x, int64), too_large)
        p.check(x >= before, cast(x, int64), unsorted)
        return cast(x, int64)

    if size:
        p.flat(first, [offsets.seen(((1,), (step,), 0))], [out.seen(((1,), (1,), 0))])
    if size > 1:
        rest = (size - 1,)
        p.flat(later, [offsets.seen((rest, (step,), step)), offsets.seen((rest, (step,), 0))],
               [out.seen((rest, (1,), 1))])


rows("_bag_starts(Tensor offsets, int count) -> Tensor", _starts, kind="gather", method=False)


def _indices(p: Any, indices: Any, count: int) -> None:
    """Indices of rows that are there."""
    out = p.result(spec(int64, indices.spec.shape, None, p.device))

    def missing(value: int) -> None:
        raise RuntimeError("embedding_bag: Expected idx >= 0 && idx < num_embeddings but found idx "
                           f"to be {value}, which is not in the valid range [0, {count})")

    def body(x: Expr) -> Expr:
        index = cast(x, int64)
        p.check((index >= 0) & (index < p.fixed(count, int64)), index, missing)
        return index

    p.flat(body, [indices], [out])


rows("_bag_indices(Tensor indices, int count) -> Tensor", _indices, kind="gather", method=False)


# ---- what is computed ------------------------------------------------------------------------

def _sums(p: Any, weight: Any, indices: Any, bag: Any, bags: int, scale: bool, sparse: bool
          ) -> None:
    """Every position adds a row of the table to its bag, in order; an index of -1 adds nothing."""
    dtype, (width, size) = weight.spec.dtype, (weight.spec.shape[1], indices.spec.shape[0])
    step, inner = weight.spec.strides
    out = p.result(spec(dtype, (bags, width), None, p.device))
    p.flat(lambda: const(0, dtype), [], [out])
    table = weight.seen(((width,), (inner,), 0)).as_rows()

    def work(target: Any) -> None:
        def body(_: Expr, index: Expr, to: Expr) -> Any:
            there = index >= 0
            row = ir.load(0, dtype, where(there, index, const(0, int64)) * p.fixed(step, int64))
            value = cast(row, target.spec.dtype)
            return p.store(value, to * p.fixed(width, int64), there, "sum")

        p.rows(body, [table, indices, bag], [target.seen(((width, size), (1, 0), 0))], [width],
               size)

    if size:
        places.collected(p, out, work, "sum")


rows("_bag_sums(Tensor weight, Tensor indices, Tensor bag, int bags, bool scale, bool sparse) -> "
     "Tensor", _sums, kind="gather", method=False, node_name="EmbeddingBagBackward0",
     backward={"weight": lambda ops, grad, weight_spec, indices, bag, scale, sparse:
               table_gradient(ops, ops.embedding(grad, bag), indices, weight_spec.shape[0], -1,
                              scale, sparse)})


def _embedding_bag(ops: Any, weight: Any, indices: Any, offsets: Any, scale_grad_by_freq: bool,
                   mode: int, sparse: bool, per_sample_weights: Any, include_last_offset: bool,
                   padding_idx: Any) -> tuple[Any, Any, Any, Any]:
    _check_dtypes(weight, indices, offsets, per_sample_weights)
    if include_last_offset and not offsets.shape[0]:
        raise RuntimeError("include_last_offset: number of offset should be at least 1")
    if not 0 <= mode < len(_MODES):
        raise RuntimeError("`mode` must be sum, mean, or max.")
    blocked = _padding_row(padding_idx, weight.shape[0])
    starts = ops._bag_starts(offsets, indices.shape[0])
    indices = ops._bag_indices(indices, weight.shape[0])
    bags = offsets.shape[0] - int(include_last_offset)
    count, width, device = indices.shape[0] if bags else 0, weight.shape[1], indices.device
    indices = ops.narrow(indices, 0, 0, count)  # without bags there is nothing to add
    bag = ops.sub(ops.searchsorted(starts, ops.arange(count, device=device), right=True), 1)
    used = ops.ones((count,), dtype=int64, device=device)
    if blocked >= 0:
        used = ops.to_dtype(ops.ne(indices, blocked), int64)
    if include_last_offset:  # what comes after the last bag's end is in no bag
        used = ops.mul(used, ops.lt(bag, bags))
        bag = ops.clamp(bag, max=bags - 1)
    some_unused = blocked >= 0 or include_last_offset
    sizes = ops.index_add(ops.zeros((bags,), dtype=int64, device=device), 0, bag, used)
    nothing, average = ops.zeros((0,), dtype=int64, device=device), _MODES[mode] == "mean"
    if _MODES[mode] != "max" and per_sample_weights is None and not (sparse and some_unused):
        if some_unused:
            indices = ops.select_where(ops.ne(used, 0), indices, -1)
        made = ops._bag_sums(weight, indices, bag, bags, scale_grad_by_freq, sparse)
        return _averaged(ops, made, sizes, average), bag, sizes, nothing
    rows = ops.embedding(weight, indices, blocked, scale_grad_by_freq, sparse)  # (N, D)
    if some_unused:
        rows = ops.select_where(ops.unsqueeze(ops.ne(used, 0), 1), rows, 0.0)
    if per_sample_weights is not None:
        rows = ops.mul(rows, ops.unsqueeze(ops.narrow(per_sample_weights, 0, 0, count), 1))
    zeros = ops.zeros((bags, width), dtype=weight.dtype, device=weight.device)
    if _MODES[mode] != "max":
        made = ops.index_add(zeros, 0, bag, rows)
        return _averaged(ops, made, sizes, average), bag, sizes, nothing
    if some_unused:
        rows = ops.select_where(ops.unsqueeze(ops.ne(used, 0), 1), rows, float("-inf"))
    made = ops.index_reduce(zeros, 0, bag, rows, "amax", include_self=False)
    made = ops.select_where(ops.unsqueeze(ops.eq(sizes, 0), 1), 0.0, made)
    return made, bag, sizes, ops.zeros((bags, width), dtype=int64, device=device)


def _averaged(ops: Any, sums: Any, sizes: Any, average: bool) -> Any:
    return ops.div(sums, ops.unsqueeze(ops.clamp(sizes, 1), 1)) if average else sums


composite("embedding_bag(Tensor weight, Tensor indices, Tensor offsets, "
          "bool scale_grad_by_freq=False, int mode=0, bool sparse=False, "
          "Tensor? per_sample_weights=None, bool include_last_offset=False, "
          "int? padding_idx=None) -> (Tensor, Tensor, Tensor, Tensor)", _embedding_bag,
          method=False, doc="Sums (mode 0), means (1) or maxima (2) of rows by bag.")
