"""Look-ups of rows in a table, and the gradient of the table: dense, or a row for each index."""

from __future__ import annotations

from typing import Any

from ..core.dtypes import INTEGRAL, int64
from ..core.spec import spec
from ..loops import ir
from ..loops.ir import Expr, cast, const
from . import places
from .kinds import rows


def _embedding(p: Any, weight: Any, indices: Any, padding_idx: int, scale: bool, sparse: bool
               ) -> None:
    """Each index copies a row of the table."""
    if weight.spec.ndim != 2:
        raise RuntimeError("'weight' must be 2-D")
    _embedding_index(p, indices)
    count, width = weight.spec.shape
    step, inner = weight.spec.strides
    shape = (*indices.spec.shape, width)
    out = p.result(spec(weight.spec.dtype, shape, None, p.device))
    if out.spec.numel and not count:
        places.no_row(0)
    table = weight.seen((shape, (*(0 for _ in indices.spec.shape), inner), 0))

    def body(_: Expr, index: Expr) -> Expr:
        at = places.wrapped(p, index, count, places.no_row, negative=False)
        return ir.load(0, weight.spec.dtype, at * p.fixed(step, int64))

    p.rows(body, [table, indices.as_rows()], [out], list(indices.spec.shape), width)


def _embedding_index(p: Any, indices: Any) -> None:
    if indices.spec.dtype.category != INTEGRAL or indices.spec.dtype.itemsize < 4:
        raise RuntimeError(
            "Expected tensor for argument #1 'indices' to have one of the following scalar "
            f"types: Long, Int; but got torch.{p.scalar_name(indices.spec.dtype)}Tensor instead "
            "(while checking arguments for embedding)")


def _embedding_back(p: Any, grad: Any, indices: Any, count: int, padding_idx: int, scale: bool
                    ) -> None:
    """Zeros with the gradient of every position added to its row, position after position."""
    width = grad.spec.shape[-1]
    dtype = grad.spec.dtype
    out = p.result(spec(dtype, (count, width), None, p.device))
    p.flat(lambda: const(0, dtype), [], [out])
    ndim = indices.spec.ndim
    line, size = p.joined(indices, ndim)
    order = [ndim, *range(ndim)]
    values, _ = p.joined(places.permuted(grad, order), ndim)
    how_often = _how_often(p, line, count, padding_idx) if scale else None

    def work(target: Any) -> None:
        seen = target.seen(((width, size), (1, 0), 0))
        table = [] if how_often is None else [how_often.seen(((width, size), (0, 0), 0))]

        def body(index: Expr, value: Expr, *more: Expr) -> Any:
            at = cast(index, int64)
            value = cast(value, seen.spec.dtype)
            if more:
                value = value / cast(ir.load(2, int64, at), value.dtype)
            return p.store(value, at * p.fixed(width, int64), at.ne(p.fixed(padding_idx, int64)),
                           "sum")

        p.rows(body, [line, values, *table], [seen], [width], size)

    places.collected(p, out, work, "sum")


def _how_often(p: Any, line: Any, count: int, padding_idx: int) -> Any:
    """How many positions name each row but that of the padding, which may be -1: none."""
    made = p.temporary((count,), int64)
    p.flat(lambda: const(0, int64), [], [made])
    size = line.spec.shape[-1]
    p.rows(lambda at: p.store(const(1, int64), cast(at, int64), at.ne(padding_idx), "sum"), [line],
           [made.seen(((size,), (0,), 0))], [], size)
    return made


def table_gradient(ops: Any, grad: Any, indices: Any, count: int, padding_idx: int, scale: bool,
                   sparse: bool) -> Any:
    """The gradient of a table from those of the rows that were looked up; `grad` makes a sparse
    one, with a row for each index."""
    if sparse:
        return grad._sparse_rows(indices, count, padding_idx, scale)
    return ops.embedding_dense_backward(grad, indices, count, padding_idx, scale)


rows("embedding(Tensor weight, Tensor indices, int padding_idx=-1, "
     "bool scale_grad_by_freq=False, bool sparse=False) -> Tensor", _embedding, kind="gather",
     method=False,
     backward={"weight": lambda ops, grad, weight_spec, indices, padding_idx, scale_grad_by_freq,
               sparse: table_gradient(ops, grad, indices, weight_spec.shape[0], padding_idx,
                                      scale_grad_by_freq, sparse)},
     doc="The rows of weight at the indices: (*, D).")


def _embedding_again(ops: Any, grad: Any, indices: Any, padding_idx: int,
                     scale_grad_by_freq: bool) -> Any:
    if scale_grad_by_freq:
        raise RuntimeError("double backward is not supported with scale_grad_by_freq")
    made = ops.embedding(grad, indices, padding_idx)
    if padding_idx < 0:
        return made
    return ops.masked_fill(made, ops.unsqueeze(ops.eq(indices, padding_idx), -1), 0)


rows("embedding_dense_backward(Tensor grad, Tensor indices, int num_weights, int padding_idx, "
     "bool scale_grad_by_freq) -> Tensor", _embedding_back, kind="scatter", method=False,
     backward={"grad": _embedding_again})
