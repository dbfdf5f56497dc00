"""`torch.sparse`: functions of sparse tensors in coordinate format.

A sparse tensor holds the values at some places and is zero everywhere else. It is made by
`torch.sparse_coo_tensor` or `Tensor.to_sparse`, and is the gradient of tables of rows that were
looked up with `sparse=True`. Derivatives of all functions here are taken at the places only.

>>> import yesca as torch
>>> links = torch.sparse_coo_tensor([[0, 0, 1], [0, 1, 1]], [1.0, 2.0, 3.0], (2, 2))
>>> torch.sparse.mm(links, torch.eye(2))
tensor([[1., 2.],
        [0., 3.]])
"""

from __future__ import annotations

from typing import Any

from ._sparse import coo, making, products, reductions
from ._sparse.making import check_sparse_tensor_invariants
from ._tensor import Tensor
from .base import absent
from .base.errors import refusal
from .core.dtypes import DType, int64
from .dispatch.call import OPERATORS as ops
from .typed_tensors import SPARSE_TYPES

DimOrDims = int | tuple[int, ...] | list[int] | None

BFloat16Tensor = SPARSE_TYPES["BFloat16Tensor"]
ByteTensor = SPARSE_TYPES["ByteTensor"]
CharTensor = SPARSE_TYPES["CharTensor"]
DoubleTensor = SPARSE_TYPES["DoubleTensor"]
FloatTensor = SPARSE_TYPES["FloatTensor"]
HalfTensor = SPARSE_TYPES["HalfTensor"]
IntTensor = SPARSE_TYPES["IntTensor"]
LongTensor = SPARSE_TYPES["LongTensor"]
ShortTensor = SPARSE_TYPES["ShortTensor"]


def _is_sparse(*tensors: Any) -> bool:
    return any(isinstance(x, coo.SparseTensor) for x in tensors)


def mm(sparse: Tensor, dense: Tensor, reduce: str | None = None) -> Any:
    """The product of two matrices, one or both of them sparse.

    Args:
        sparse: (n, m). dense: (m, p). Either may be of the other kind.
        reduce: only "sum"; PyTorch takes others for `torch.sparse_csr` only.

    Returns a dense tensor (n, p), a sparse one where both are. Gradients go to both operands.

    >>> import yesca as torch
    >>> a = torch.tensor([[0.0, 2.0], [1.0, 0.0]]).to_sparse().requires_grad_()
    >>> torch.sparse.mm(a, torch.tensor([[1.0], [10.0]])).sum().backward()
    >>> a.grad.to_dense()
    tensor([[ 0., 10.],
            [ 1.,  0.]])
    """
    if reduce is not None and reduce != "sum":
        raise coo.refused("_sparse_mm_reduce_impl", 'Only reduce="sum" is there.')
    return products.mm(sparse, dense) if _is_sparse(sparse, dense) else ops.mm(sparse, dense)


def addmm(input: Tensor, sparse: Tensor, dense: Tensor, *, beta: float = 1, alpha: float = 1
          ) -> Any:
    """beta * input + alpha * (sparse @ dense), with dense `input` (n, p)."""
    if not _is_sparse(input, sparse, dense):
        return ops.addmm(input, sparse, dense, beta=beta, alpha=alpha)
    return products.addmm(input, sparse, dense, beta=beta, alpha=alpha)


def sum(input: Tensor, dim: DimOrDims = None, dtype: DType | None = None) -> Any:
    """The sum over dimensions: dense, if no sparse dimension is left, else sparse.

    >>> import yesca as torch
    >>> x = torch.tensor([[0.0, 2.0], [1.0, 3.0]]).to_sparse()
    >>> torch.sparse.sum(x), torch.sparse.sum(x, 0).to_dense()
    (tensor(6.), tensor([1., 5.]))
    """
    _check(input, "_indices")
    return reductions.sum(input, dim, dtype=dtype)  # type: ignore[arg-type]


def softmax(input: Tensor, dim: int, *, dtype: DType | None = None) -> Any:
    """The softmax along a dimension of the values there; elsewhere the result is 0 as well.

    >>> import yesca as torch
    >>> x = torch.sparse_coo_tensor([[0, 0, 1], [0, 1, 1]], [1.0, 1.0, 5.0], (2, 2))
    >>> torch.sparse.softmax(x, 1).to_dense()
    tensor([[0.5000, 0.5000],
            [0.0000, 1.0000]])
    """
    _check(input, "_sparse_softmax")
    return reductions.softmax(input, dim, dtype)  # type: ignore[arg-type]


def log_softmax(input: Tensor, dim: int, *, dtype: DType | None = None) -> Any:
    """The logarithm of `softmax` at the places; elsewhere the result is 0."""
    _check(input, "_sparse_log_softmax")
    return reductions.softmax(input, dim, dtype, logarithm=True)  # type: ignore[arg-type]


def _check(input: Any, name: str) -> None:
    if not _is_sparse(input):
        raise refusal(name, "CPU", "The tensor is not sparse; to_sparse() makes it so.")


def spdiags(diagonals: Tensor, offsets: Tensor, shape: tuple[int, int], layout: Any = None
            ) -> Tensor:
    """A sparse matrix with the rows of `diagonals` on its diagonals.

    Args:
        diagonals: (k, n) or (n,); element j of a row stands in column j.
        offsets: int64 (k,) or (), above the main diagonal if positive; none of them twice.
        shape: of the result.

    Raises RuntimeError for numbers of rows that differ, and offsets that come twice.

    >>> import yesca as torch
    >>> torch.sparse.spdiags(torch.ones(3), torch.tensor(-1), (3, 3)).to_dense()
    tensor([[0., 0., 0.],
            [1., 0., 0.],
            [0., 1., 0.]])
    """
    rows = diagonals.unsqueeze(0) if diagonals.dim() == 1 else diagonals
    lines = ops.reshape(offsets, (-1,))
    if rows.dim() != 2:
        raise RuntimeError("Diagonals must be vector or matrix")
    if len(shape) != 2:
        raise RuntimeError("Output shape must be 2d")
    if lines.dtype is not int64:
        raise RuntimeError("Offset Tensor must have dtype Long but got Offsets of "
                           f"{offsets.dtype}")
    if lines.shape[0] != rows.shape[0]:
        raise RuntimeError(f"Number of diagonals ({rows.shape[0]}) does not match the number of "
                           f"offsets ({lines.shape[0]})")
    if len(set(lines.tolist())) != lines.shape[0]:
        raise RuntimeError("Offset tensor contains duplicate values")
    column = ops.arange(rows.shape[1], device=rows.device).repeat(rows.shape[0])
    row = ops.sub(column, ops.repeat_interleave(lines, rows.shape[1]))
    inside = (row >= 0) & (row < shape[0]) & (column < shape[1])
    kept = inside.nonzero().reshape(-1)
    made = making.sparse_coo_tensor(ops.stack([row[kept], column[kept]]),
                                    rows.reshape(-1)[kept], shape)
    return made if layout is None else making.to_sparse(made, layout=layout)


__all__ = [
    "BFloat16Tensor", "ByteTensor", "CharTensor", "DimOrDims", "DoubleTensor", "FloatTensor",
    "HalfTensor", "IntTensor", "LongTensor", "ShortTensor", "addmm",
    "check_sparse_tensor_invariants", "log_softmax", "mm", "softmax", "spdiags", "sum",
]

__getattr__ = absent.names_of(__name__)
