"""Norms of elements over dimensions, distances, renormalisation."""

from __future__ import annotations

from typing import Any

from ..loops.scalar import sqrt
from .kinds import composite, reduction
from .reduction import spread


_two = reduction("norm2(Tensor self, any? dim=None, bool keepdim=False) -> Tensor", "sum",
                 before=lambda x: x * x, final=lambda total, count: sqrt(total), dtype="float",
                 method=False, node_name="LinalgVectorNormBackward0",
                 backward={"self": lambda ops, grad, self, result, dim, keepdim: ops.mul(
                     self, spread(ops, ops.select_where(
                         ops.eq(result, 0), 0.0, ops.div(grad, result)), tuple(self.shape),
                         dim, keepdim))})


def vector_norm(ops: Any, self: Any, ord: Any, dim: Any, keepdim: bool) -> Any:
    """The `ord`-norm of the elements over dim."""
    if ord == 2:
        return ops.norm2(self, dim, keepdim)
    size = ops.abs(self)
    if ord == 1:
        return ops.sum(size, dim, keepdim)
    if ord == 0:
        return ops.sum(ops.to_dtype(ops.ne(self, 0), self.dtype), dim, keepdim)
    if ord in (float("inf"), float("-inf")):
        dims = () if dim is None else dim
        return ops.amax(size, dims, keepdim) if ord > 0 else ops.amin(size, dims, keepdim)
    return ops.pow(ops.sum(ops.pow(size, ord), dim, keepdim), 1.0 / ord)


def _norm(ops: Any, self: Any, p: Any, dim: Any, keepdim: bool, dtype: Any) -> Any:
    if dtype is not None:
        self = ops.to_dtype(self, dtype)
    if not self.dtype.is_floating_point:
        raise RuntimeError("linalg.vector_norm: Expected a floating point or complex tensor as "
                           f"input. Got {p and self.dtype}")
    return vector_norm(ops, self, 2 if p in (None, "fro") else p, dim, keepdim)


composite("norm(Tensor self, any? p='fro', any? dim=None, bool keepdim=False, dtype? dtype=None) "
          "-> Tensor", _norm, doc="The p-norm of the elements.")

__all__ = ["vector_norm"]
