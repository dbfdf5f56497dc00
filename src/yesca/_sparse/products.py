"""Matrix products of which one operand, or both, are sparse.

A product with a dense matrix gathers the rows that the places name, multiplies each by its value
and adds it to its row of the result; both gradients follow from these operators.
"""

from __future__ import annotations

from typing import Any

from ..core.dtypes import SCALAR_NAMES
from ..core.tensor_base import TensorBase
from ..dispatch.call import OPERATORS as ops
from ..dispatch.state import STATE
from . import coo
from .arithmetic import mul
from .coo import SparseTensor, coalesced, make, sibling
from .moving import to_dtype, unsqueeze


def _check(a: Any, b: Any, name: str = "addmm") -> None:
    """Refuse operands that are not two matrices of one dtype that fit."""
    for place, x in enumerate((a, b), start=2):
        if x._spec.ndim != 2:
            if name == "addmm":
                raise IndexError("Dimension out of range (expected to be in range of "
                                 f"[{-max(x._spec.ndim, 1)}, {max(x._spec.ndim, 1) - 1}], but got "
                                 "1): the product of sparse matrices takes matrices")
            raise RuntimeError(f"{name}: Argument #{place}: matrices expected, got "
                               f"{x._spec.ndim}D tensor")
    for x in (a, b):
        if isinstance(x, SparseTensor) and coo.sparse_dim(x) != 2:
            raise RuntimeError(f"{name}: Argument #2: expected a matrix of 2 sparse dimensions, "
                               f"got {coo.sparse_dim(x)} sparse and "
                               f"{x._spec.ndim - coo.sparse_dim(x)} dense ones")
    if a._spec.shape[1] != b._spec.shape[0]:
        told = " (dense)" if name == "addmm" else ""
        raise RuntimeError(f"{name}: Argument #3{told}: Expected dim 0 size {a._spec.shape[1]}, "
                           f"got {b._spec.shape[0]}")
    if a.dtype is not b.dtype:
        raise RuntimeError(f"expected scalar type {SCALAR_NAMES[a.dtype]} but found "
                           f"{SCALAR_NAMES[b.dtype]}")


def mm(a: Any, b: Any, *, out: Any = None) -> Any:
    """The product of two matrices, sparse where both are."""
    a, b = _lowered(a), _lowered(b)
    _check(a, b)
    if not isinstance(a, SparseTensor):
        made = ops.t(_by_dense(transposed(b), ops.t(a)))
    elif isinstance(b, SparseTensor):
        made = _by_sparse(a, b)
    else:
        made = _by_dense(a, b)
    return made if out is None else ops.copy_(out, made)


def _lowered(x: Any) -> Any:
    """An operand as autocast has it."""
    lower = STATE.autocast
    if lower is None or not x.dtype.is_floating_point:
        return x
    return to_dtype(x, lower) if isinstance(x, SparseTensor) else coo.cast(x, lower)


def transposed(a: SparseTensor) -> SparseTensor:
    """The transpose of a matrix."""
    rows, columns = a._spec.shape
    return sibling(a, ops.flip(a._places, (0,)), (columns, rows), False)


def _scaled_rows(a: SparseTensor, x: Any) -> Any:
    """For each place, its value times the row of x that its column names: (nnz, columns of x)."""
    rows = ops.index_select(x, 0, ops.select(a._places, 0, 1))
    return ops.mul(ops.unsqueeze(a._entries, 1), rows)


def _by_dense(a: SparseTensor, x: Any) -> Any:
    made = coo.summed(_scaled_rows(a, x), ops.select(a._places, 0, 0), a._spec.shape[0])
    return coo.labelled(made, "SparseAddmmBackward0")


def _by_sparse(a: SparseTensor, b: SparseTensor) -> SparseTensor:
    """Each value of `a` meets the row of `b` that its column names."""
    a, b = coalesced(a), coalesced(b)
    size = (a._spec.shape[0], b._spec.shape[1])
    column, starts = ops.select(a._places, 0, 1), ops.contiguous(ops.select(b._places, 0, 0))
    first = ops.searchsorted(starts, column)
    pairs, at = coo.ranges(first, ops.sub(ops.searchsorted(starts, column, right=True), first))
    entries = ops.mul(ops.index_select(a._entries, 0, pairs), ops.index_select(b._entries, 0, at))
    places = ops.stack([ops.index_select(ops.select(a._places, 0, 0), 0, pairs),
                        ops.index_select(ops.select(b._places, 0, 1), 0, at)])
    return coalesced(make(places, entries, size, False))


def mv(a: Any, x: Any) -> Any:
    """Matrix times vector."""
    if x._spec.ndim != 1:
        raise RuntimeError(f"vector + matrix @ vector expected, got 1, {a._spec.ndim}, "
                           f"{x._spec.ndim}")
    return ops.squeeze(mm(a, ops.unsqueeze(x, 1)), 1)


def matmul(a: Any, b: Any, *, out: Any = None) -> Any:
    """`a @ b` of matrices, and of a matrix and a vector."""
    if not (isinstance(a, TensorBase) and isinstance(b, TensorBase)):
        return NotImplemented
    ranks = a._spec.ndim, b._spec.ndim  # type: ignore[attr-defined]
    if ranks == (2, 1):
        made = mv(a, b)
    elif ranks == (1, 2):
        made = mv(transposed(b), a) if isinstance(b, SparseTensor) else \
            ops.squeeze(mm(unsqueeze(a, 0), b), 0)
    elif ranks == (3, 3):
        made = bmm(a, b)
    elif ranks == (2, 2):
        made = mm(a, b)
    else:
        raise coo.refused("matmul", f"Sparse operands of {ranks[0]} and {ranks[1]} dimensions are "
                                    "not there; to_dense() takes all.")
    return made if out is None else ops.copy_(out, made)


def bmm(a: Any, b: Any, *, out: Any = None) -> Any:
    """Products of a batch of sparse matrices with dense ones."""
    if not isinstance(a, SparseTensor) or isinstance(b, SparseTensor):
        raise RuntimeError("bmm_sparse: the first operand must be sparse, the second dense")
    if a._spec.ndim != 3 or b._spec.ndim != 3 or coo.sparse_dim(a) != 3:
        raise RuntimeError(f"bmm_sparse: Tensor 'mat1' and 'mat2' must have 3 dimensions, got "
                           f"{a._spec.ndim} and {b._spec.ndim}")
    batch, rows, inner = a._spec.shape
    if b._spec.shape[0] != batch or b._spec.shape[1] != inner:
        raise RuntimeError("bmm_sparse: sizes do not fit: "
                           f"{tuple(a._spec.shape)} times {tuple(b._spec.shape)}")
    number, row, column = ops.unbind(a._places, 0)
    places = ops.stack([ops.add(ops.mul(number, rows), row),
                        ops.add(ops.mul(number, inner), column)])
    flat = sibling(a, places, (batch * rows, batch * inner), a._unique)
    width = b._spec.shape[2]
    made = ops.reshape(mm(flat, ops.reshape(b, (batch * inner, width))), (batch, rows, width))
    return made if out is None else ops.copy_(out, made)


def addmm(input: Any, a: Any, b: Any, *, beta: Any = 1, alpha: Any = 1, out: Any = None) -> Any:
    """beta * input + alpha * (a @ b), of a sparse `a`, dense `b` and `input`."""
    if isinstance(input, SparseTensor):
        raise RuntimeError("expand is unsupported for Sparse tensors: addmm takes a dense input")
    if not isinstance(a, SparseTensor) or isinstance(b, SparseTensor):
        names = ["Sparse" if isinstance(x, SparseTensor) else "Strided" for x in (a, b)]
        raise RuntimeError(
            "addmm_sparse_dense: expected either 'mat1' to have sparse layout and 'mat2' to have "
            f"strided layout, got 'mat1' with layout {names[0]} and 'mat2' with layout {names[1]}")
    made = mm(a, b)
    made = made if alpha == 1 else ops.mul(made, alpha)
    made = ops.add(made, input if beta == 1 else ops.mul(input, beta))
    return made if out is None else ops.copy_(out, made)


def addmm_(input: Any, a: Any, b: Any, *, beta: Any = 1, alpha: Any = 1) -> Any:
    """`addmm` in place of a dense input."""
    return ops.copy_(input, addmm(input, a, b, beta=beta, alpha=alpha))


# ---- products whose results are sparse -----------------------------------------------------------

def hspmm(mat1: Any, mat2: Any, *, out: Any = None) -> Any:
    """The product of a sparse matrix and a dense one, with the rows of `mat1` that have values.

    mat1: sparse (n, m); mat2: dense (m, p). The result has one sparse dimension and one dense.
    """
    return _rows(mat1, mat2, "hspmm")


def _rows(a: Any, b: Any, name: str) -> SparseTensor:
    if not isinstance(a, SparseTensor):
        raise coo.refused(name) if name == "hspmm" else RuntimeError(
            f"{name}: expected 'mat1' to have sparse layout, got 'mat1' with layout Strided")
    if isinstance(b, SparseTensor):
        raise RuntimeError(f"{name}: expected 'mat2' to have strided layout, got 'mat2' with "
                           "layout Sparse")
    _check(a, b, name)
    numbers, groups = ops.unique(ops.select(a._places, 0, 0), return_inverse=True)
    entries = coo.summed(_scaled_rows(a, b), groups, numbers.shape[0])
    size = (a._spec.shape[0], b._spec.shape[1])
    return make(ops.unsqueeze(numbers, 0), entries, size, False)


def smm(input: Any, mat: Any) -> SparseTensor:
    """The product of a sparse matrix (n, m) and a dense one (m, p), as a sparse one (n, p)."""
    made = _rows(input, mat, "sspaddmm")
    count, width = made._entries.shape
    columns = ops.arange(width, device=made.device)
    places = ops.stack([ops.repeat_interleave(ops.select(made._places, 0, 0), width),
                        columns.repeat(count)])
    return make(places, ops.reshape(made._entries, (-1,)), made._spec.shape, False)


def sspaddmm(input: Any, mat1: Any, mat2: Any, *, beta: Any = 1, alpha: Any = 1, out: Any = None
             ) -> SparseTensor:
    """beta * input + alpha * (mat1 @ mat2), of sparse `input` and `mat1`, as a sparse tensor."""
    if not isinstance(input, SparseTensor):
        raise RuntimeError("tensor.sspaddmm(...) can only be called on sparse tensors")
    made = smm(mat1, mat2)
    if made._spec.shape != input._spec.shape:
        raise RuntimeError("sspaddmm: Argument #1: Expected dim 0 size "
                           f"{made._spec.shape[0]}, got {input._spec.shape[0]}, and dim 1 size "
                           f"{made._spec.shape[1]}, got {input._spec.shape[1]}")
    total: SparseTensor = ops.add(mul(input, beta), mul(made, alpha))
    return total


def linear(input: Any, weight: Any, bias: Any = None) -> Any:
    """`input @ weight.T + bias`, one of the two matrices sparse."""
    made = mm(input, transposed(weight) if isinstance(weight, SparseTensor) else ops.t(weight))
    return made if bias is None else ops.add(made, bias)
