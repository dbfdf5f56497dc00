"""Derivatives of products of matrices: see `formulas.py`."""

from __future__ import annotations

from typing import Any

from .._ops import ops

a = ops.aten


def times(made: Any, number: Any) -> Any:
    """A product with a number, which 1 leaves out."""
    return made if number == 1 else a.mul.Scalar(made, number)


def _columns(spec: Any) -> bool:
    """Whether a matrix lies column after column."""
    return tuple(spec.strides) == (1, spec.shape[0])


def _left(grad: Any, other: Any, spec: Any, alpha: Any = 1) -> Any:
    if _columns(spec):
        return times(a.t.default(a.mm.default(other, a.t.default(grad))), alpha)
    return times(a.mm.default(grad, a.t.default(other)), alpha)


def _right(grad: Any, other: Any, spec: Any, alpha: Any = 1) -> Any:
    if _columns(spec):
        return times(a.t.default(a.mm.default(a.t.default(grad), other)), alpha)
    return times(a.mm.default(a.t.default(other), grad), alpha)


def _batched_left(grad: Any, other: Any, alpha: Any = 1) -> Any:
    return times(a.bmm.default(grad, a.transpose.int(other, 1, 2)), alpha)


def _batched_right(grad: Any, other: Any, alpha: Any = 1) -> Any:
    return times(a.bmm.default(a.transpose.int(other, 1, 2), grad), alpha)


PRODUCTS: dict[str, Any] = {
    "mm.default": {"mat2": lambda grad, self, mat2_spec: _right(grad, self, mat2_spec),
                   "self": lambda grad, mat2, self_spec: _left(grad, mat2, self_spec)},
    "addmm.default": {
        "mat1": lambda grad, mat2, mat1_spec, alpha: _left(grad, mat2, mat1_spec, alpha),
        "mat2": lambda grad, mat1, mat2_spec, alpha: _right(grad, mat1, mat2_spec, alpha),
        "self": lambda grad, beta: times(grad, beta)},
    "bmm.default": {"mat2": lambda grad, self: _batched_right(grad, self),
                    "self": lambda grad, mat2: _batched_left(grad, mat2)},
    "baddbmm.default": {
        "batch1": lambda grad, batch2, alpha: _batched_left(grad, batch2, alpha),
        "batch2": lambda grad, batch1, alpha: _batched_right(grad, batch1, alpha),
        "self": lambda grad, beta: times(grad, beta)},
    "mv.default": {
        "self": lambda grad, vec: a.mul.Tensor(a.view.default(grad, [grad.shape[0], 1]), vec),
        "vec": lambda grad, self: a.mv.default(a.t.default(self), grad)},
    "dot.default": {"self": lambda grad, tensor: a.mul.Tensor(grad, tensor),
                    "tensor": lambda grad, self: a.mul.Tensor(grad, self)},
}
