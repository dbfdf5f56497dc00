"""The methods of tensors that are about sparse ones; dense tensors say that they are not sparse.

The class has them under these names, and imports this module when one is called first.
"""

from __future__ import annotations

from typing import Any

from ..base.errors import refusal
from ..dispatch.call import OPERATORS as ops
from . import coo
from .coo import SparseTensor
from .making import rows_of as _rows_of
from .making import sparse_zeros, to_sparse
from .moving import (
    resize_as_sparse_, sparse_mask, sparse_resize_, sparse_resize_and_clear_,
)
from .products import smm, sspaddmm


def _sparse(x: Any, name: str, layout: str = "sparse coordinate tensor") -> SparseTensor:
    if not isinstance(x, SparseTensor):
        raise RuntimeError(f"{name} expected {layout} layout but got Strided; to_sparse() makes a "
                           "dense tensor sparse")
    return x


def coalesce(self: Any) -> Any:
    """The same tensor with its places in order, each of them once; values of one place are added.

    >>> import yesca as torch
    >>> torch.sparse_coo_tensor([[1, 0, 1]], [1.0, 2.0, 3.0], (2,)).coalesce().values()
    tensor([2., 4.])
    """
    return coo.coalesced(_sparse(self, "coalesce"))


def is_coalesced(self: Any) -> bool:
    """Whether places are known to be in order, each of them once."""
    return _sparse(self, "is_coalesced")._unique


def indices(self: Any) -> Any:
    """The places of a coalesced sparse tensor: int64 (sparse dimensions, nnz)."""
    if not _sparse(self, "indices")._unique:
        raise RuntimeError("Cannot get indices on an uncoalesced tensor, please call .coalesce() "
                           "first")
    return self._places


def values(self: Any) -> Any:
    """The values of a coalesced sparse tensor: (nnz, *dense dimensions), on the tape."""
    if not _sparse(self, "values", "sparse tensor")._unique:
        raise RuntimeError("Cannot get values on an uncoalesced tensor, please call .coalesce() "
                           "first")
    return coo.labelled(ops.alias(self._entries), "ValuesBackward0")


def _indices(self: Any) -> Any:
    if not isinstance(self, SparseTensor):
        raise refusal("_indices", "CPU", "The tensor is not sparse.")
    return self._places


def _values(self: Any) -> Any:
    if not isinstance(self, SparseTensor):
        raise refusal("_values", "CPU", "The tensor is not sparse.")
    return self._entries.detach()


def _nnz(self: Any) -> int:
    if not isinstance(self, SparseTensor):
        raise refusal("_nnz", "CPU", "The tensor is not sparse.")
    return coo.nnz(self)


def _coalesced_(self: Any, coalesced: bool) -> Any:
    _sparse(self, "_coalesced_")._unique = bool(coalesced)
    return self


def sparse_dim(self: Any) -> int:
    """How many dimensions are sparse: those in front; 0 of a dense tensor."""
    return coo.sparse_dim(self) if isinstance(self, SparseTensor) else 0


def dense_dim(self: Any) -> int:
    """How many dimensions each value has; all of a dense tensor."""
    return int(self._spec.ndim) - sparse_dim(self)


def to_sparse_coo(self: Any) -> Any:
    """The elements that are not zero, as a sparse tensor."""
    return to_sparse(self)


def _sparse_rows(self: Any, indices: Any, count: int, skipped: int, scaled: bool) -> Any:
    if scaled:
        raise RuntimeError("embedding_backward: scale_grad_by_freq not supported with sparse "
                           "gradients")
    return _rows_of(self, indices, count, skipped)


def _sparse_zeros(self: Any, size: tuple[int, ...]) -> Any:
    return sparse_zeros(size, self)


__all__ = ["resize_as_sparse_", "smm", "sparse_mask", "sparse_resize_", "sparse_resize_and_clear_",
           "sspaddmm", "to_sparse"]
