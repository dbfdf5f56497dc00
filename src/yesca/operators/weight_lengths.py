"""Weights as lengths times directions: the two operators of weight normalisation."""

from __future__ import annotations

from typing import Any

from .kinds import composite
from .norms import vector_norm


def _norm_except_dim(ops: Any, v: Any, pow: int, dim: int) -> Any:
    if dim == -1:
        return vector_norm(ops, v, pow, None, False)
    last = v.dim() - 1
    if dim not in (0, last):
        return ops.transpose(_norm_except_dim(ops, ops.transpose(v, 0, dim), pow, 0), 0, dim)
    ones, size = (1,) * last, v.shape[dim]
    if dim == 0:
        flat, over, shape = ops.reshape(v, (size, -1)), 1, (size, *ones)
    else:
        flat, over, shape = ops.reshape(v, (-1, size)), 0, (*ones, size)
    return ops.reshape(vector_norm(ops, flat, pow, (over,), False), shape)


def _weight_norm(ops: Any, v: Any, g: Any, dim: int) -> Any:
    if dim in (0, v.dim() - 1):
        return ops.weight_of_length(v, g, dim)
    return _of_length(ops, v, g, dim)


def _of_length(ops: Any, v: Any, g: Any, dim: int) -> Any:
    return ops.mul(v, ops.div(g, ops.norm_except_dim(v, 2, dim)))


def _of_length_back(ops: Any, grad: Any, v: Any, g: Any, dim: int) -> Any:
    """The part of the gradient along v goes to g, the rest to v."""
    lengths = ops.norm_except_dim(v, 2, dim)
    others = tuple(d for d in range(v.dim()) if d != dim)
    along = ops.mul(grad, v)
    along = ops.div(ops.sum(along, others, True) if others else along, lengths)
    across = ops.sub(grad, ops.mul(v, ops.div(along, lengths)))
    return ops.mul(ops.div(g, lengths), across), along


composite("norm_except_dim(Tensor v, int pow=2, int dim=0) -> Tensor", _norm_except_dim,
          method=False,
          samples=lambda make: [(make(3, 4),), (make(2, 3, 4), 2, 1), (make(2, 3), 1, -1),
                                (make(4), 2, 0)],
          doc="The norm of order pow over all dimensions but dim, which stay, with size 1; over "
              "all of them, 0-dim, where dim is -1.")

composite("_weight_norm(Tensor v, Tensor g, int dim=0) -> Tensor", _weight_norm, method=False,
          samples=lambda make: [(make(3, 4), make(3, 1)), (make(2, 3, 4), make(1, 3, 1), 1),
                                (make(2, 3), make(1, 3), 1)],
          doc="v, scaled so that its norm over all dimensions but dim is g.")

composite("weight_of_length(Tensor v, Tensor g, int dim) -> Tensor", _of_length, method=False,
          node_name="WeightNormInterfaceBackward0", backward={("v", "g"): _of_length_back},
          samples=lambda make: [(make(3, 4), make(3, 1), 0), (make(2, 3), make(1, 3), 1),
                                (make(4), make(4), 0)])
