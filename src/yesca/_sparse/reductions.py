"""Sums, norms and softmaxes of sparse tensors."""

from __future__ import annotations

from typing import Any

from ..core.dtypes import int64
from ..dispatch.call import OPERATORS as ops
from . import coo
from .coo import SparseTensor, coalesced, dim_of, like, make, refused, sparse_dim
from .moving import unsqueeze


def _dims(x: SparseTensor, dim: Any) -> list[int]:
    """The dimensions to sum over, in order; all of them for None."""
    if dim is None:
        return list(range(x._spec.ndim))
    found: list[int] = []
    for d in dim if isinstance(dim, (tuple, list)) else (dim,):
        place = dim_of(x, d)
        if place in found:
            raise RuntimeError(f"dim {place} appears multiple times in the list of dims")
        found.append(place)
    return sorted(found) or list(range(x._spec.ndim))


def sum(x: SparseTensor, dim: Any = None, keepdim: bool = False, *, dtype: Any = None,
        out: Any = None) -> Any:
    """The sum over some dimensions; sparse as long as one of the sparse ones is left."""
    dims, sparse = _dims(x, dim), sparse_dim(x)
    entries = x._entries if dtype is None else coo.cast(x._entries, dtype)
    inner = tuple(d - sparse + 1 for d in dims if d >= sparse)
    if set(dims) >= set(range(sparse)):
        made = ops.sum(entries, (0, *inner))
        if keepdim:
            made = ops.reshape(made, tuple(1 if d in dims else n
                                           for d, n in enumerate(x._spec.shape)))
        return made if out is None else ops.copy_(out, made)
    if inner:
        entries = ops.sum(entries, inner)
    elif dtype is None and not (entries.is_floating_point() or entries.is_complex()):
        entries = coo.cast(entries, int64)
    rest = [d for d in range(sparse) if d not in dims]
    places = ops.index_select(x._places, 0, ops.tensor(rest, dtype=int64, device=x.device))
    size = [n for d, n in enumerate(x._spec.shape) if d not in dims]
    made = coalesced(make(places, entries, size, x._unique and len(rest) == sparse))
    for d in dims if keepdim else ():
        made = unsqueeze(made, d)
    return made


def norm(x: SparseTensor, p: Any = "fro", dim: Any = None, keepdim: bool = False, *,
         dtype: Any = None, out: Any = None) -> Any:
    """The norm of all elements, as of a vector."""
    whole = dim is None or len(_dims(x, dim)) == x._spec.ndim
    if not whole:
        raise RuntimeError("norm_sparse currently only supports full reductions, so 'dim' must "
                           "either be empty or contain all dimensions of the input")
    entries = ops.reshape(coalesced(x)._entries, (-1,))
    order = 2 if p in (None, "fro") else p
    made = ops.linalg_vector_norm(entries, order, dtype=dtype)
    return ops.reshape(made, (1,) * x._spec.ndim) if keepdim else made


def any(x: SparseTensor, dim: Any = None, keepdim: bool = False) -> Any:
    """Whether one of the elements is not zero."""
    if dim is not None:
        raise refused("any.dim")
    return ops.any(coalesced(x)._entries)


def softmax(x: SparseTensor, dim: int, dtype: Any = None, logarithm: bool = False) -> SparseTensor:
    """The softmax along a dimension of the values there; what is zero elsewhere stays so."""
    x, d, sparse = coalesced(x), dim_of(x, dim), sparse_dim(x)
    entries = x._entries if dtype is None else coo.cast(x._entries, dtype)
    if d >= sparse:
        function = ops.log_softmax if logarithm else ops.softmax
        return like(x, function(entries, d - sparse + 1))
    rest = [k for k in range(sparse) if k != d]
    places = ops.index_select(x._places, 0, ops.tensor(rest, dtype=int64, device=x.device))
    _, groups = ops.unique(coo.numbered(places, tuple(x._spec.shape[k] for k in rest)),
                           return_inverse=True)
    count = coo.nnz(x)  # as many groups at most
    least = ops.full_like(entries.detach(), float("-inf"))
    most = ops.index_reduce(least, 0, groups, entries.detach(), "amax")
    shifted = ops.sub(entries, ops.index_select(most, 0, groups))
    powers = ops.exp(shifted)
    total = ops.index_select(coo.summed(powers, groups, count), 0, groups)
    made = ops.sub(shifted, ops.log(total)) if logarithm else ops.div(powers, total)
    return like(x, made)
