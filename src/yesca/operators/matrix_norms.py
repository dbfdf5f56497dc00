"""Norms of vectors and matrices, condition numbers, ranks: `torch.linalg`'s names."""

from __future__ import annotations

import math
from typing import Any

from ..core.dtypes import FLOATING, SCALAR_NAMES, promote
from ..core.views import wrap_dim
from .kinds import composite
from .matrices import Seen, check_floating, check_matrix, check_square
from .norms import vector_norm
from .solvers import tolerances

_INFINITE = (math.inf, -math.inf)


def _converted(ops: Any, name: str, x: Any, dtype: Any) -> Any:
    """x in the dtype that was asked for, which must not be narrower."""
    if dtype is None:
        return x
    check_floating(name, dtype)
    if promote(x.dtype, dtype) is not dtype:
        raise RuntimeError(f"{name}: the dtype of the input ({SCALAR_NAMES[x.dtype]}) should be "
                           "convertible without narrowing to the specified dtype "
                           f"({SCALAR_NAMES[dtype]})")
    return ops.to_dtype(x, dtype) if x.dtype is not dtype else x


def _check_order(kind: str, ord: Any) -> None:
    if isinstance(ord, complex):
        raise RuntimeError(f"linalg.{kind}_norm: Expected a non-complex scalar as the order of "
                           "norm.")


def _vector_norm(ops: Any, x: Any, ord: Any, dim: Any, keepdim: bool, dtype: Any) -> Any:
    if isinstance(ord, str):
        raise TypeError("linalg_vector_norm(): argument 'ord' must be Number, not str")
    _check_order("vector", ord)
    check_floating("linalg.vector_norm", x.dtype)
    if isinstance(dim, int):
        dim = (dim,)
    dims = tuple(range(x.dim())) if dim is None or not len(dim) else dim
    if (ord < 0 or ord == math.inf) and any(x.shape[d] == 0 for d in dims if x.dim()):
        raise RuntimeError(f"linalg.vector_norm cannot compute the {ord} norm on an empty "
                           "dimension because the operation does not have an identity")
    return vector_norm(ops, _converted(ops, "linalg.vector_norm", x, dtype), ord,
                       dim if dim is not None and len(dim) else None, keepdim)


composite("linalg_vector_norm(Tensor self, number ord=2, int[1]? dim=None, bool keepdim=False, *, "
          "dtype? dtype=None) -> Tensor", _vector_norm, out=True, method=False,
          doc="The ord-norm of the elements over dim.")


# ---- matrices ----------------------------------------------------------------------------------

def _pair(ops: Any, A: Any, dim: Any) -> tuple[int, int]:
    if isinstance(dim, int):
        raise TypeError("linalg_matrix_norm() received an invalid combination of arguments - got "
                        "(Tensor, dim=int), but expected dim to be a tuple of 2 ints")
    if len(dim) != 2:
        shown = ", ".join(map(str, dim))
        raise RuntimeError(f"linalg.matrix_norm: dim must be a 2-tuple. Got {shown}")
    first, second = (wrap_dim(d, A.dim()) for d in dim)
    if first == second:
        raise RuntimeError(f"linalg.matrix_norm: dims must be different. Got ({dim[0]}, {dim[1]})")
    return first, second


def _matrix_norm(ops: Any, A: Any, ord: Any, dim: Any, keepdim: bool, dtype: Any) -> Any:
    name = "linalg.matrix_norm"
    _check_order("matrix", ord)
    known = ("fro", "nuc") if isinstance(ord, str) else (1, 2, math.inf)
    if (ord if isinstance(ord, str) else abs(ord)) not in known:
        shown = ord if isinstance(ord, str) else f"{ord:g}"
        raise RuntimeError(f"{name}: Order {shown} not supported.")
    check_floating(name, A.dtype)
    check_matrix(name, Seen(A))
    rows, columns = _pair(ops, A, dim)
    A = _converted(ops, name, A, dtype)
    if ord == "fro":
        return vector_norm(ops, A, 2, (rows, columns), keepdim)
    if isinstance(ord, str) or abs(ord) == 2:
        values = ops.linalg_svdvals(ops.movedim(A, (rows, columns), (-2, -1)))
        made = ops.sum(values, (-1,)) if ord == "nuc" else \
            ops.amax(values, (-1,)) if ord > 0 else ops.amin(values, (-1,))
        return _put_back(ops, made, (rows, columns)) if keepdim else made
    if abs(ord) == math.inf:
        rows, columns = columns, rows
    sums = vector_norm(ops, A, 1, (rows,), True)
    made = ops.amax(sums, (columns,), True) if ord > 0 else ops.amin(sums, (columns,), True)
    return made if keepdim else ops.squeeze(made, (rows, columns))


def _put_back(ops: Any, made: Any, dims: tuple[int, ...]) -> Any:
    for d in sorted(dims):
        made = ops.unsqueeze(made, d)
    return made


composite("linalg_matrix_norm(Tensor self, number|str ord='fro', int[] dim=[-2,-1], "
          "bool keepdim=False, *, "
          "dtype? dtype=None) -> Tensor", _matrix_norm, out=True, method=False,
          doc="'fro', 'nuc', or the norm induced by 1, 2 or inf (negative: the smallest).")


def _norm(ops: Any, A: Any, ord: Any, dim: Any, keepdim: bool, dtype: Any) -> Any:
    dims = (dim,) if isinstance(dim, int) else dim
    if dims is not None and len(dims) not in (1, 2):
        raise RuntimeError("linalg.norm: If dim is specified, it must be of length 1 or 2. Got "
                           f"[{', '.join(map(str, dims))}]")
    if ord is None:
        return _vector_norm(ops, A, 2, dims, keepdim, dtype)
    if dims is None and A.dim() not in (1, 2):
        raise RuntimeError("linalg.norm: If dim is not specified but ord is, the input must be "
                           f"1D or 2D. Got {A.dim()}D.")
    if not isinstance(ord, str) and (len(dims) if dims is not None else A.dim()) == 1:
        return _vector_norm(ops, A, ord, dims, keepdim, dtype)
    if dims is None:
        dims = (0, 1)
    return _matrix_norm(ops, A, ord, dims, keepdim, dtype)


composite("linalg_norm(Tensor self, number|str? ord=None, int[1]? dim=None, bool keepdim=False, *, "
          "dtype? dtype=None) -> Tensor", _norm, out=True, method=False,
          doc="The norm of vectors or matrices, by what ord and dim say.")


# ---- condition and rank ------------------------------------------------------------------------

def _cond(ops: Any, A: Any, p: Any) -> Any:
    if A.dim() < 2:
        raise RuntimeError("linalg.cond: The input tensor must have at least 2 dimensions.")
    if p in (None, 2, -2):
        values = ops.linalg_svdvals(A)
        if not A.numel():
            return ops.zeros(tuple(A.shape[:-2]), dtype=values.dtype, device=A.device)
        first, last = ops.select(values, -1, 0), ops.select(values, -1, -1)
        return ops.div(last, first) if p == -2 else ops.div(first, last)
    known = ("fro", "nuc") if isinstance(p, str) else (1, -1, *_INFINITE)
    if p not in known:
        raise RuntimeError(f"linalg.cond got an invalid norm type: {p}")
    if not A.numel():
        return ops.zeros(tuple(A.shape[:-2]), dtype=A.dtype, device=A.device)
    check_square("linalg.cond", Seen(A))
    inverse, info = ops.linalg_inv_parts(A)
    made = ops.mul(ops.linalg_matrix_norm(A, p), ops.linalg_matrix_norm(inverse, p))
    return ops.where(ops.ne(info, 0), math.inf, made)


composite("linalg_cond(Tensor self, number|str? p=None) -> Tensor", _cond, out=True, method=False,
          autocast="float32", doc="The condition number: norm(A) * norm(inv(A)).")


def _matrix_rank(ops: Any, A: Any, tol: Any, hermitian: bool, atol: Any, rtol: Any) -> Any:
    if A.dtype.category < FLOATING or A.dtype.itemsize < 4:
        raise RuntimeError("This function doesn't handle types other than float and double")
    check_matrix("torch.linalg.matrix_rank", Seen(A), "input")
    if tol is not None:
        atol, rtol = tol, 0.0
    atol, rtol = tolerances(ops, A, atol, rtol, "matrix_rank")
    if not A.numel():
        from ..core.dtypes import int64

        return ops.zeros(tuple(A.shape[:-2]), dtype=int64, device=A.device)
    A = A.detach()
    values = ops.abs(ops.linalg_eigvalsh(A)) if hermitian else ops.linalg_svdvals(A)
    least = ops.maximum(atol, ops.mul(rtol, ops.amax(values, (-1,))))
    return ops.sum(ops.gt(values, ops.unsqueeze(least, -1)), (-1,))


composite("linalg_matrix_rank(Tensor A, float|Tensor? tol=None, bool hermitian=False, *, "
          "float|Tensor? atol=None, float|Tensor? rtol=None) -> Tensor", _matrix_rank, out=True,
          method=False, autocast="float32",
          doc="How many singular values exceed max(atol, rtol * largest).")
