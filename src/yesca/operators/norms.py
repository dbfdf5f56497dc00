"""Norms of elements over dimensions, distances, renormalisation."""

from __future__ import annotations

from typing import Any

from ..core.dtypes import FLOATING, SCALAR_NAMES
from ..core.spec import spec
from ..loops.ir import Expr, cast, const
from ..loops.scalar import absolute, power, sqrt
from .kinds import compute_dtype, composite, reduced_dims, reduced_shape, reduction, rows
from .reduction import spread


_two = reduction("norm2(Tensor self, any? dim=None, bool keepdim=False) -> Tensor", "sum",
                 before=lambda x: x * x, final=lambda total, count: sqrt(total), dtype="float",
                 method=False, node_name="LinalgVectorNormBackward0",
                 backward={"self": lambda ops, grad, self, result, dim, keepdim: ops.mul(
                     self, spread(ops, ops.select_where(
                         ops.eq(result, 0), 0.0, ops.div(grad, result)), tuple(self.shape),
                         dim, keepdim))})


def _power(p: Any, self: Any, ord: float, dim: Any, keepdim: bool) -> None:
    dims = reduced_dims(dim, self.spec.ndim) if self.spec.ndim else ()
    if not self.spec.ndim:
        reduced_dims(dim, 1)  # one without dimensions admits 0 and -1
    shape = reduced_shape(tuple(self.spec.shape), dims, keepdim)
    wide = compute_dtype(self.spec.dtype)

    def final(total: Expr) -> Expr:
        order = p.argument(1, wide)
        return power(total, const(1, wide) / order)

    p.reduce("sum", lambda x: power(absolute(cast(x, wide)), p.argument(1, wide)), final, self,
             dims, p.result(spec(self.spec.dtype, shape, None, p.device)))


def _power_back(ops: Any, grad: Any, self: Any, result: Any, ord: float, dim: Any, keepdim: bool
                ) -> Any:
    """sign(x) (|x| / norm)^(ord - 1); 0 where x or the norm is."""
    shape = tuple(self.shape)
    length = spread(ops, result, shape, dim, keepdim)
    still = ops.logical_or(ops.eq(self, 0), ops.eq(length, 0))
    ratio = ops.where(still, 1.0, ops.div(ops.abs(self), ops.where(still, 1.0, length)))
    slope = ops.where(still, 0.0, ops.mul(ops.sgn(self), ops.pow(ratio, ord - 1)))
    return ops.mul(spread(ops, grad, shape, dim, keepdim), slope)


rows("norm_power(Tensor self, float ord, any? dim=None, bool keepdim=False) -> Tensor", _power,
     method=False, node_name="LinalgVectorNormBackward0", backward={"self": _power_back})


def vector_norm(ops: Any, self: Any, ord: Any, dim: Any, keepdim: bool) -> Any:
    """The `ord`-norm of the elements over dim."""
    if self.dtype.is_complex:
        self = ops.abs(self)
    if ord == 2:
        return ops.norm2(self, dim, keepdim)
    if ord not in (0, 1, float("inf"), float("-inf")):
        return ops.norm_power(self, float(ord), dim, keepdim)
    if ord == 1:
        return ops.norm1(self, dim, keepdim)
    if ord == 0:
        return ops.norm0(self, dim, keepdim)
    return ops.norm_extreme(self, ord > 0, dim, keepdim)


def _extreme(ops: Any, self: Any, largest: bool, dim: Any, keepdim: bool) -> Any:
    fold = ops.amax if largest else ops.amin
    return fold(ops.abs(self), () if dim is None else dim, keepdim)


def _extreme_back(ops: Any, grad: Any, self: Any, result: Any, dim: Any, keepdim: bool) -> Any:
    """Equal extremes share the gradient."""
    shape = tuple(self.shape)
    size, length = ops.abs(self), spread(ops, result, shape, dim, keepdim)
    mask = ops.logical_or(ops.eq(size, length),
                          ops.logical_and(ops.isnan(size), ops.isnan(length)))
    count = ops.sum(mask, reduced_dims(dim, len(shape)), True) if shape else 1
    share = ops.div(spread(ops, grad, shape, dim, keepdim), count)
    return ops.select_where(mask, ops.mul(ops.sgn(self), share), 0.0)


composite("norm_extreme(Tensor self, bool largest, any? dim=None, bool keepdim=False) -> Tensor",
          _extreme, method=False, node_name="LinalgVectorNormBackward0",
          backward={"self": _extreme_back},
          samples=lambda make: [(make(3, 4), True), (make(3, 4), False, 1),
                                (make(2, 3, 4), True, (0, 2), True)])


composite("norm0(Tensor self, any? dim=None, bool keepdim=False) -> Tensor",
          lambda ops, self, dim, keepdim: ops.sum(
              ops.to_dtype(ops.ne(self, 0), self.dtype), dim, keepdim), method=False,
          node_name="LinalgVectorNormBackward0", backward={"self": lambda ops, grad: None},
          samples=lambda make: [(make(3, 4),), (make(3, 4), 1), (make(2, 3, 4), (0, 2), True)])


composite("norm1(Tensor self, any? dim=None, bool keepdim=False) -> Tensor",
          lambda ops, self, dim, keepdim: ops.sum(ops.abs(self), dim, keepdim), method=False,
          node_name="LinalgVectorNormBackward0",
          backward={"self": lambda ops, grad, self, dim, keepdim: ops.mul(
              ops.sgn(self), spread(ops, grad, tuple(self.shape), dim, keepdim))},
          samples=lambda make: [(make(3, 4),), (make(3, 4), 1), (make(2, 3, 4), (0, 2), True)])


def norm_back(ops: Any, grad: Any, self: Any, length: Any, ord: float) -> Any:
    """The gradient of all elements' `ord`-norm, which is `length`; extremes share it."""
    if ord == 0:
        return ops.zeros_like(self)
    if ord == 1:
        return ops.mul(ops.sgn(self), grad)
    if ord == 2:
        return ops.mul(self, ops.select_where(ops.eq(length, 0), 0.0, ops.div(grad, length)))
    if ord in (float("inf"), float("-inf")):
        return _extreme_back(ops, grad, self, length, None, False)
    return _power_back(ops, grad, self, length, ord, None, False)


def norm_slope(ops: Any, self: Any, length: Any, ord: float) -> Any:
    """The derivative of the norm of positive order that is `length`; 0 where the elements are.

    Of largest elements each has the whole.
    """
    if ord == 1:
        return ops.sgn(self)
    if ord == float("inf"):
        return ops.mul(ops.sgn(self), ops.to_dtype(ops.eq(ops.abs(self), length), self.dtype))
    still = ops.eq(length, 0) if ord >= 1 else ops.logical_or(ops.eq(self, 0), ops.eq(length, 0))
    length = ops.where(still, 1.0, length)
    if ord == 2:
        return ops.select_where(still, 0.0, ops.div(self, length))
    ratio = ops.where(still, 1.0, ops.div(ops.abs(self), length))
    return ops.select_where(still, 0.0, ops.mul(ops.sgn(self), ops.pow(ratio, ord - 1)))


def _norm(ops: Any, self: Any, p: Any, dim: Any, keepdim: bool, dtype: Any) -> Any:
    if dtype is not None:
        self = ops.to_dtype(self, dtype)
    if isinstance(p, str) and p not in ("fro", "nuc"):
        raise RuntimeError(f"linalg.matrix_norm: Order {p} not supported.")
    if p == "fro" and isinstance(dim, (tuple, list)) and len(dim) > 2:
        raise RuntimeError("linalg.matrix_norm: dim must be a 2-tuple. Got "
                           + " ".join(map(str, dim)))
    if p == "nuc":
        return ops.linalg_matrix_norm(self, "nuc", (-2, -1) if dim is None else dim, keepdim)
    if self.dtype.category < FLOATING:
        raise RuntimeError("linalg.vector_norm: Expected a floating point or complex tensor as "
                           f"input. Got {SCALAR_NAMES[self.dtype]}")
    return vector_norm(ops, self, 2 if p in (None, "fro") else p, dim, keepdim)


composite("norm(Tensor self, number|str? p='fro', int[1]? dim=None, bool keepdim=False, "
          "dtype? dtype=None) "
          "-> Tensor", _norm, out=True, doc="The p-norm of the elements.")

__all__ = ["norm_back", "norm_slope", "vector_norm"]
