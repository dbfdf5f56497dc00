"""Sums and products of sparse tensors with others, and functions that keep zeros."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..core.dtypes import can_cast
from ..core.tensor_base import TensorBase
from ..dispatch import questions
from ..dispatch.call import OPERATORS as ops
from ..dispatch.state import STATE
from . import coo
from .coo import SparseTensor, coalesced, like, make, place, refused

_NUMBERS = (int, float, complex)


def _is_sparse(x: Any) -> bool:
    return isinstance(x, SparseTensor)


def _number(x: Any) -> Any:
    """A number, or a dense tensor without dimensions; else None."""
    if isinstance(x, _NUMBERS):
        return x
    return x if isinstance(x, TensorBase) and not _is_sparse(x) and not x._spec.ndim else None


# ---- sums --------------------------------------------------------------------------------------

def _scaled(entries: Any, alpha: Any) -> Any:
    return entries if alpha == 1 else ops.mul(entries, alpha)


def _check_alike(a: SparseTensor, b: SparseTensor) -> None:
    if a._spec.shape != b._spec.shape:
        raise RuntimeError("add: expected sizes of 'self' and 'other' to match, but "
                           f"{list(a._spec.shape)} != {list(b._spec.shape)}")
    if coo.sparse_dim(a) != coo.sparse_dim(b):
        raise RuntimeError(
            "add: expected 'self' and 'other' to have same density, but 'self' has "
            f"{coo.sparse_dim(a)} sparse dimensions while 'other' has {coo.sparse_dim(b)} sparse "
            "dimensions")


def _joined(a: SparseTensor, b: SparseTensor, alpha: Any) -> SparseTensor:
    """The places of both; sorted if both are."""
    _check_alike(a, b)
    dtype = questions.result_type(a._entries, b._entries)
    if a._places is b._places:
        return like(a, ops.add(a._entries, b._entries, alpha=alpha))
    parts = [coo.cast(e, dtype) for e in (a._entries, _scaled(b._entries, alpha))]
    made = make(ops.cat([a._places, b._places], 1), ops.cat(parts, 0), a._spec.shape, False)
    return coalesced(made) if a._unique and b._unique else made


def _check_dense(x: Any, other: SparseTensor) -> None:
    if x.shape != other._spec.shape:
        raise RuntimeError(
            "add: expected 'self' and 'other' to have same size, but self has size "
            f"{list(x.shape)} while other has size {list(other._spec.shape)} (FYI: dense-sparse "
            "addition does not currently support broadcasting)")


def _onto(x: Any, other: SparseTensor, alpha: Any) -> Any:
    """dense += alpha * sparse."""
    _check_dense(x, other)
    entries, sparse = other._entries, coo.sparse_dim(other)
    given, wanted = questions.result_type(x, entries), x.dtype
    if not can_cast(given, wanted):
        raise RuntimeError(f"result type {given} can't be cast to the desired output type "
                           f"{wanted}")
    entries = coo.cast(entries, wanted)
    if sparse == 1:
        return ops.index_add_(x, 0, ops.select(other._places, 0, 0), entries, alpha=alpha)
    entries = _scaled(entries, alpha)
    if not sparse:
        return ops.add_(x, ops.sum(entries, (0,)))
    return ops.index_put_(x, ops.unbind(other._places, 0), entries, accumulate=True)


def add(a: Any, b: Any, *, alpha: Any = 1, out: Any = None) -> Any:
    """a + alpha * b; a dense one stands first."""
    if not _is_sparse(b):
        raise RuntimeError("add(sparse, dense) is not supported. Use add(dense, sparse) instead.")
    if _is_sparse(a):
        made: Any = _joined(a, b, alpha)
    else:
        x = a if isinstance(a, TensorBase) else ops.full((), a)
        _check_dense(x, b)
        dtype = questions.result_type(x, b._entries)
        made = _onto(ops.clone(x) if x.dtype is dtype else coo.cast(x, dtype), b, alpha)
    return made if out is None else ops.copy_(out, made)


def add_(a: Any, b: Any, *, alpha: Any = 1) -> Any:
    """a += alpha * b."""
    if not _is_sparse(b):
        raise RuntimeError("add(sparse, dense) is not supported. Use add(dense, sparse) instead.")
    if not _is_sparse(a):
        return _onto(a, b, alpha)
    if a._places is b._places:
        ops.add_(a._entries, b._entries, alpha=alpha)
        return a
    made = _joined(a, b, alpha)
    _check_kept(made, a)
    return place(a, made._places, coo.cast(made._entries, a.dtype), a._spec.shape,
                 made._unique)


def _check_kept(made: SparseTensor, target: SparseTensor) -> None:
    if not can_cast(made.dtype, target.dtype):
        raise RuntimeError(f"result type {made.dtype} can't be cast to the desired output type "
                           f"{target.dtype}")
    if target._entries.requires_grad and target._entries.is_leaf and STATE.tape:
        raise RuntimeError("a leaf Variable that requires grad is being used in an in-place "
                           "operation.")


def sub(a: Any, b: Any, *, alpha: Any = 1, out: Any = None) -> Any:
    """a - alpha * b."""
    return add(a, b, alpha=-alpha, out=out)


def sub_(a: Any, b: Any, *, alpha: Any = 1) -> Any:
    """a -= alpha * b."""
    return add_(a, b, alpha=-alpha)


def rsub(a: Any, b: Any, *, alpha: Any = 1) -> Any:
    """b - alpha * a."""
    return add(b, a, alpha=-alpha)


# ---- products ----------------------------------------------------------------------------------

def mul(a: Any, b: Any, *, out: Any = None) -> Any:
    """a * b: a number counts everywhere, a dense tensor at the places, a sparse one where both
    have one."""
    if not _is_sparse(a):
        a, b = b, a
    factor = _number(b)
    if factor is not None:
        made = like(a, ops.mul(a._entries, factor))
    elif _is_sparse(b):
        made = _common(a, b)
    else:
        made = like(a, ops.mul(a._entries, _at_places(a, b)))
    return made if out is None else ops.copy_(out, made)


def _at_places(a: SparseTensor, x: Any) -> Any:
    """A dense tensor, stretched to a sparse one's shape, at its places."""
    if x._spec.ndim > a._spec.ndim:
        raise RuntimeError(f"mul: a dense tensor of size {list(x.shape)} does not broadcast to a "
                           f"sparse tensor of size {list(a._spec.shape)}")
    return coo.gathered(ops.broadcast_to(x, tuple(a._spec.shape)), a._places)


def _common(a: SparseTensor, b: SparseTensor) -> SparseTensor:
    if a._spec.shape != b._spec.shape or coo.sparse_dim(a) != coo.sparse_dim(b):
        raise RuntimeError(
            f"mul operands have incompatible sizes: {list(a._spec.shape)} with "
            f"{coo.sparse_dim(a)} sparse dimensions, {list(b._spec.shape)} with "
            f"{coo.sparse_dim(b)}")
    a, b = coalesced(a), coalesced(b)
    sizes = coo.parameters(a)
    at, there = coo.found(coo.numbered(a._places, sizes), coo.numbered(b._places, sizes))
    kept = ops.reshape(ops.nonzero(there), (-1,))
    entries = ops.mul(ops.index_select(a._entries, 0, kept),
                      ops.index_select(b._entries, 0, ops.index_select(at, 0, kept)))
    return make(ops.index_select(a._places, 1, kept), entries, a._spec.shape, True)


def mul_(a: Any, b: Any) -> Any:
    """a *= b."""
    if not _is_sparse(a):
        return ops.mul_(a, coo.dense(b))
    factor = _number(b)
    if factor is not None:
        ops.mul_(a._entries, factor)
    elif _is_sparse(b):
        made = _common(a, b)
        _check_kept(made, a)
        return place(a, made._places, coo.cast(made._entries, a.dtype), a._spec.shape, True)
    else:
        ops.mul_(a._entries, _at_places(a, b))
    return a


def _divisor(a: Any, b: Any) -> Any:
    factor = _number(b)
    if not _is_sparse(a) and _number(a) is not None:
        raise refused("reciprocal")
    if factor is None or not _is_sparse(a):
        shape = list(b._spec.shape) if isinstance(b, TensorBase) else []
        raise RuntimeError("Sparse division requires a scalar or zero-dim dense tensor divisor "
                           f"(got shape {shape} for divisor)")
    return factor


def div(a: Any, b: Any, *, rounding_mode: Any = None, out: Any = None) -> Any:
    """a / number; rounded quotients are those of the sums at each place."""
    divisor = _divisor(a, b)
    a = coalesced(a) if rounding_mode is not None else a
    made = like(a, ops.div(a._entries, divisor, rounding_mode=rounding_mode))
    return made if out is None else ops.copy_(out, made)


def div_(a: Any, b: Any, *, rounding_mode: Any = None) -> Any:
    """a /= number."""
    divisor = _divisor(a, b)
    if rounding_mode is not None and not a._unique:
        raise RuntimeError("div_ requires coalesced input where quotients are rounded")
    ops.div_(a._entries, divisor, rounding_mode=rounding_mode)
    return a


def floor_divide(a: Any, b: Any) -> Any:
    """a // number."""
    return div(a, b, rounding_mode="floor")


def pow(a: Any, exponent: Any) -> SparseTensor:
    """a ** number, which is not 0."""
    if not _is_sparse(a) or not isinstance(exponent, _NUMBERS):
        raise refused("pow.Tensor_Tensor" if _is_sparse(a) else "pow.Scalar")
    if exponent == 0:
        raise RuntimeError("pow: cannot raise to zeroth power on sparse tensor; it would make the "
                           "result tensor dense")
    a = coalesced(a)
    return like(a, ops.pow(a._entries, exponent))


# ---- functions that keep zeros -----------------------------------------------------------------

#: Linear ones: they need no sums first.
LINEAR = frozenset("neg negative positive conj conj_physical resolve_conj resolve_neg real "
                   "imag".split())
#: The others, of the sums at each place.
ENTRYWISE = frozenset("""
    abs absolute sqrt sin tan asin arcsin atan arctan sinh tanh asinh arcsinh atanh arctanh sign
    signbit floor ceil round trunc fix frac relu erf erfinv expm1 log1p rad2deg deg2rad square sgn
    isnan isinf isneginf isposinf nan_to_num""".split())


def entrywise(name: str) -> Callable[..., Any]:
    """A function that gives 0 for 0, or its form in place, on sparse tensors."""
    operator = getattr(ops, name)
    linear = name.removesuffix("_") in LINEAR

    def function(a: SparseTensor, *args: Any, out: Any = None, **kwargs: Any) -> Any:
        if name.endswith("_"):
            if not (linear or a._unique):
                raise RuntimeError(f"{name} requires coalesced input")
            operator(a._entries, *args, **kwargs)
            return a
        a = a if linear else coalesced(a)
        made = like(a, operator(a._entries, *args, **kwargs))
        return made if out is None else ops.copy_(out, made)

    return function


