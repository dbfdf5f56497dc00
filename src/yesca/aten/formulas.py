"""Derivatives of PyTorch's operators, in PyTorch's operators, as its tape calls them.

Overload -> {argument: formula}. What a formula reads, and thereby what the tape keeps, are its
parameters: `grad` (`grads` of all results), `result` (`result0` ...), arguments by name, and
`NAME_spec` of those whose values it does not need; `needs` has the names that want a gradient.
Arguments stand in the order in which PyTorch takes them: that of their names.
"""

from __future__ import annotations

import math
from typing import Any

from .._ops import ops
from .formulas_of_layers import LAYERS
from .formulas_of_products import PRODUCTS, times
from .formulas_of_shapes import SHAPES, stretched

a = ops.aten


def _zero(like: Any) -> Any:
    return a.scalar_tensor.default(0.0, dtype=like.dtype, layout=like.layout, device=like.device)


def _other_of_div(grad: Any, self: Any, other: Any) -> Any:
    slope = a.div.Tensor(a.div.Tensor(self, other), other)
    return a.mul.Tensor(a.neg.default(grad), slope)


def _pow_number(grad: Any, self: Any, exponent: Any) -> Any:
    if exponent == 0:
        return a.zeros_like.default(self)
    return a.mul.Tensor(grad, a.mul.Scalar(a.pow.Tensor_Scalar(self, exponent - 1), exponent))


def _pow_base(grad: Any, self: Any, exponent: Any) -> Any:
    made = a.mul.Tensor(grad, a.mul.Tensor(exponent, a.pow.Tensor_Tensor(
        self, a.sub.Scalar(exponent, 1))))
    zero = _zero(self)
    return a.where.self(a.eq.Scalar(exponent, 0.0), zero, made)


def _pow_exponent(grad: Any, self: Any, exponent: Any, result: Any) -> Any:
    positive = a.ge.Scalar(exponent, 0)
    none = a.logical_and.default(a.eq.Scalar(self, 0), positive)
    steep = a.mul.Tensor(result, a.log.default(self))
    zero = _zero(self)
    return a.mul.Tensor(grad, a.where.self(none, zero, steep))


def _clamped(grad: Any, self: Any, min: Any, max: Any) -> Any:
    zero = _zero(grad)
    inside = None if min is None else a.ge.Scalar(self, min)
    below = None if max is None else a.le.Scalar(self, max)
    if inside is None:
        inside = below
    elif below is not None:
        inside = a.logical_and_.default(inside, below)
    return a.where.self(inside, grad, zero)


def _chosen(grad: Any, self: Any, other: Any, beyond: Any) -> Any:
    """Half of the gradient where both are equal, nothing where the other one was chosen."""
    half = a.div.Scalar(grad, 2)
    made = a.where.self(a.eq.Tensor(self, other), half, grad)
    return a.masked_fill_.Scalar(made, beyond(self, other), 0)


def _erf(grad: Any, self: Any) -> Any:
    bell = a.exp.default(a.neg.default(a.pow.Tensor_Scalar(self, 2)))
    return a.mul.Tensor(grad, a.mul.Scalar(bell, 2.0 / math.sqrt(math.pi)))


def _rsqrt(grad: Any, result: Any) -> Any:
    return a.mul.Tensor(grad, a.mul.Scalar(a.pow.Tensor_Scalar(result, 3), -0.5))


def _reciprocal(grad: Any, result: Any) -> Any:
    return a.mul.Tensor(grad, a.neg.default(a.mul.Tensor(result, result)))


def _kept(grad: Any) -> Any:
    return grad


def _log(base: float) -> Any:
    return lambda grad, self: a.div.Tensor(grad, a.mul.Scalar(self, math.log(base)))


ELEMENTWISE: dict[str, Any] = {
    "add.Tensor": {"other": lambda grad, alpha: times(grad, alpha), "self": _kept},
    "add.Scalar": {"self": _kept},
    "sub.Tensor": {"other": lambda grad, alpha: times(a.neg.default(grad), alpha), "self": _kept},
    "sub.Scalar": {"self": _kept},
    "rsub.Scalar": {"self": lambda grad, alpha: times(a.neg.default(grad), alpha)},
    "rsub.Tensor": {"other": _kept, "self": lambda grad, alpha: times(a.neg.default(grad), alpha)},
    "mul.Tensor": {"other": lambda grad, self: a.mul.Tensor(grad, self),
                   "self": lambda grad, other: a.mul.Tensor(grad, other)},
    "mul.Scalar": {"self": lambda grad, other: a.mul.Scalar(grad, other)},
    "div.Tensor": {"other": _other_of_div,
                   "self": lambda grad, other: a.div.Tensor(grad, other)},
    "div.Scalar": {"self": lambda grad, other: a.div.Scalar(grad, other)},
    "neg.default": {"self": lambda grad: a.neg.default(grad)},
    "exp.default": {"self": lambda grad, result: a.mul.Tensor(grad, result)},
    "expm1.default": {"self": lambda grad, result: a.mul.Tensor(grad, a.add.Scalar(result, 1))},
    "log.default": {"self": lambda grad, self: a.div.Tensor(grad, self)},
    "log1p.default": {"self": lambda grad, self: a.div.Tensor(grad, a.add.Scalar(self, 1))},
    "log2.default": {"self": _log(2.0)}, "log10.default": {"self": _log(10.0)},
    "sqrt.default": {"self": lambda grad, result: a.div.Tensor(grad, a.mul.Scalar(result, 2))},
    "rsqrt.default": {"self": _rsqrt}, "reciprocal.default": {"self": _reciprocal},
    "sin.default": {"self": lambda grad, self: a.mul.Tensor(grad, a.cos.default(self))},
    "cos.default": {"self": lambda grad, self: a.mul.Tensor(
        grad, a.neg.default(a.sin.default(self)))},
    "sinh.default": {"self": lambda grad, self: a.mul.Tensor(grad, a.cosh.default(self))},
    "cosh.default": {"self": lambda grad, self: a.mul.Tensor(grad, a.sinh.default(self))},
    "tan.default": {"self": lambda grad, result: a.mul.Tensor(
        grad, a.add.Scalar(a.pow.Tensor_Scalar(result, 2), 1))},
    "tanh.default": {"self": lambda grad, result: a.tanh_backward.default(grad, result)},
    "sigmoid.default": {"self": lambda grad, result: a.sigmoid_backward.default(grad, result)},
    "relu.default": {"self": lambda grad, result: a.threshold_backward.default(grad, result, 0)},
    "abs.default": {"self": lambda grad, self: a.mul.Tensor(grad, a.sgn.default(self))},
    "erf.default": {"self": _erf},
    "pow.Tensor_Scalar": {"self": _pow_number},
    "pow.Tensor_Tensor": {"exponent": _pow_exponent, "self": _pow_base},
    "clamp.default": {"self": _clamped},
    "maximum.default": {"other": lambda grad, self, other: _chosen(grad, self, other, a.gt.Tensor),
                        "self": lambda grad, self, other: _chosen(grad, self, other, a.lt.Tensor)},
    "minimum.default": {"other": lambda grad, self, other: _chosen(grad, self, other, a.lt.Tensor),
                        "self": lambda grad, self, other: _chosen(grad, self, other, a.gt.Tensor)},
    "where.self": {
        "other": lambda grad, condition: a.where.self(condition, _zero(grad), grad),
        "self": lambda grad, condition: _where_self(grad, condition)},
    "masked_fill.Scalar": {"self": lambda grad, mask: a.masked_fill.Scalar(grad, mask, 0)},
    "masked_fill.Tensor": {"self": lambda grad, mask: a.masked_fill.Scalar(grad, mask, 0),
                           "value": lambda grad, mask: a.sum.default(a.where.self(
                               mask, grad, _zero(grad)))},
    "lerp.Scalar": {"end": lambda grad, weight: a.mul.Scalar(grad, weight),
                    "self": lambda grad, weight: a.mul.Scalar(grad, 1 - weight)},
    "addcmul.default": {
        "self": _kept,
        "tensor1": lambda grad, tensor2, value: a.mul.Tensor(
            grad, tensor2 if value == 1 else a.mul.Scalar(tensor2, value)),
        "tensor2": lambda grad, tensor1, value: a.mul.Tensor(
            grad, tensor1 if value == 1 else a.mul.Scalar(tensor1, value))},
    "gelu.default": {"self": lambda grad, self, approximate: a.gelu_backward.default(
        grad, self, approximate=approximate)},
    "silu.default": {"self": lambda grad, self: a.silu_backward.default(grad, self)},
    "mish.default": {"self": lambda grad, self: a.mish_backward.default(grad, self)},
    "hardswish.default": {"self": lambda grad, self: a.hardswish_backward.default(grad, self)},
    "hardsigmoid.default": {"self": lambda grad, self: a.hardsigmoid_backward.default(grad, self)},
    "leaky_relu.default": {"self": lambda grad, self, negative_slope:
                           a.leaky_relu_backward.default(grad, self, negative_slope, False)},
    "elu.default": {"self": lambda grad, self, alpha, scale, input_scale: a.elu_backward.default(
        grad, alpha, scale, input_scale, False, self)},
    "softplus.default": {"self": lambda grad, self, beta, threshold: a.softplus_backward.default(
        grad, self, beta, threshold)},
    "hardtanh.default": {"self": lambda grad, self, min_val, max_val: a.hardtanh_backward.default(
        grad, self, min_val, max_val)},
    "log_sigmoid_forward.default": {"self": lambda grad, self, result1:
                                    a.log_sigmoid_backward.default(grad, self, result1)},
    "clone.default": {"self": _kept}, "alias.default": {"self": _kept},
    "lift_fresh.default": {"self": _kept}, "contiguous.default": {"self": _kept},
    "copy_.default": {"self": lambda grad: a.zeros_like.default(grad), "src": _kept},
    "zero_.default": {"self": lambda grad: a.zeros_like.default(grad)},
    "fill_.Scalar": {"self": lambda grad: a.zeros_like.default(grad)},
    "fill_.Tensor": {"self": lambda grad: a.zeros_like.default(grad),
                     "value": lambda grad: a.sum.default(grad)},
    "_to_copy.default": {"self": lambda grad, self_spec: a._to_copy.default(
        grad, dtype=self_spec.dtype, layout=grad.layout, device=self_spec.device)},
}


def _where_self(grad: Any, condition: Any) -> Any:
    zero = _zero(grad)
    return a.where.self(condition, grad, zero)


# ---- sums ------------------------------------------------------------------------------------

def _dims(dim: Any, rank: int) -> list[int]:
    given = range(rank) if dim is None or not isinstance(dim, int) and not len(dim) else \
        (dim,) if isinstance(dim, int) else dim
    return sorted({d % rank if rank else 0 for d in given})


def opened_up(grad: Any, dim: Any, keepdim: bool, rank: int) -> Any:
    """A fold's gradient or result with the dimensions that were folded, of size 1."""
    if keepdim or not rank:
        return grad
    for d in _dims(dim, rank):
        grad = a.unsqueeze.default(grad, d)
    return grad


def _summed(grad: Any, self_spec: Any, dim: Any, keepdim: bool) -> Any:
    return stretched(opened_up(grad, dim, keepdim, len(self_spec.shape)), self_spec.shape)


def _mean_dim(grad: Any, self_spec: Any, dim: Any, keepdim: bool) -> Any:
    count = math.prod(self_spec.shape[d] for d in _dims(dim, len(self_spec.shape)))
    return a.div.Scalar(_summed(grad, self_spec, dim, keepdim), count)


def _extreme(grad: Any, self: Any, dim: Any, keepdim: bool, result: Any) -> Any:
    shape = [1 if d in _dims(dim, self.dim()) else n for d, n in enumerate(self.shape)]
    if not keepdim:
        result = a.view.default(result, shape)
    mask = a.eq.Tensor(result, self)
    if not keepdim:
        grad = a.view.default(grad, shape)
    count = a.sum.dim_IntList(mask, list(dim) or list(range(self.dim())), True)
    return a.mul.Tensor(a.div.Tensor(grad, count), mask)


def _at_index(grad: Any, self_spec: Any, dim: int, keepdim: bool, result1: Any) -> Any:
    if not keepdim and self_spec.shape:
        grad, result1 = a.unsqueeze.default(grad, dim), a.unsqueeze.default(result1, dim)
    zeros = a.new_zeros.default(grad, list(self_spec.shape))
    return a.scatter.src(zeros, dim, result1, grad)


def _var(grad: Any, self: Any, dim: Any, correction: Any, keepdim: bool) -> Any:
    n = math.prod(self.shape[d] for d in _dims(dim, self.dim()))
    free = n - (1 if correction is None else correction)
    if dim is None:
        centred = a.sub.Tensor(self, a.mean.default(self))
    else:
        grad = opened_up(grad, dim, keepdim, self.dim())
        centred = a.sub.Tensor(self, a.mean.dim(self, list(dim), True))
    return a.mul.Tensor(a.mul.Scalar(grad, 2.0 / free), centred)


def _std(grad: Any, self: Any, result: Any, dim: Any, correction: Any, keepdim: bool) -> Any:
    part = a.div.Tensor(grad, a.mul.Scalar(result, 2))
    part = a.masked_fill_.Scalar(part, a.eq.Scalar(result, 0), 0)
    return _var(part, self, dim, correction, keepdim)


def _logsumexp(grad: Any, self: Any, result: Any, dim: Any, keepdim: bool) -> Any:
    grad = opened_up(grad, dim, keepdim, self.dim())
    result = opened_up(result, dim, keepdim, self.dim())
    return a.mul.Tensor(grad, a.exp.default(a.sub.Tensor(self, result)))


def _cumsum(grad: Any, dim: int) -> Any:
    if grad.numel() <= 1 or grad.shape[dim] == 1:
        return grad
    return a.flip.default(a.cumsum.default(a.flip.default(grad, [dim]), dim), [dim])


def _prod(grad: Any, self: Any, result: Any) -> Any:  # kept, as in PyTorch
    """Products of all elements before and after each one: right also where some are zero."""
    flat = a.view.default(self, [-1])
    n = self.numel()
    one = a.ones.default([1], dtype=self.dtype, layout=self.layout, device=self.device)
    before = a.cumprod.default(a.cat.default([one, a.slice.Tensor(flat, 0, 0, n - 1)]), 0)
    rest = a.flip.default(a.slice.Tensor(flat, 0, 1, n), [0])
    after = a.flip.default(a.cumprod.default(a.cat.default([one, rest]), 0), [0])
    made = a.mul.Tensor(grad, a.mul.Tensor(before, after))
    return a.view.default(made, list(self.shape))


def _norm(grad: Any, self: Any, result: Any, ord: Any, dim: Any, keepdim: bool) -> Any:
    if ord != 2 or dim is not None:
        from .vjp import pulled_back

        return pulled_back(a.linalg_vector_norm.default.kernel, (self, ord, dim, keepdim), {},
                           [grad])[0]
    unit = a.masked_fill_.Scalar(a.div.Tensor(self, result), a.eq.Scalar(result, 0), 0)
    return a.mul.Tensor(grad, unit)


REDUCTIONS: dict[str, Any] = {
    "sum.default": {"self": lambda grad, self_spec: stretched(grad, self_spec.shape)},
    "sum.dim_IntList": {"self": _summed},
    "mean.default": {"self": lambda grad, self_spec: a.div.Scalar(
        stretched(grad, self_spec.shape), math.prod(self_spec.shape))},
    "mean.dim": {"self": _mean_dim},
    "amax.default": {"self": _extreme}, "amin.default": {"self": _extreme},
    "max.dim": {"self": _at_index}, "min.dim": {"self": _at_index},
    "var.correction": {"self": _var}, "std.correction": {"self": _std},
    "logsumexp.default": {"self": _logsumexp},
    "cumsum.default": {"self": _cumsum}, "prod.default": {"self": _prod},
    "linalg_vector_norm.default": {"self": _norm},
}

FORMULAS: dict[str, Any] = {**ELEMENTWISE, **REDUCTIONS, **SHAPES, **PRODUCTS, **LAYERS}

#: Operators whose results have no gradient.
NOT_DIFFERENTIABLE = frozenset("""
    eq ne lt le gt ge isnan isinf isfinite logical_and logical_or logical_xor logical_not
    argmax argmin argsort sign floor_divide bitwise_and bitwise_or bitwise_not any all ones_like
    zeros_like empty_like full_like rand_like randn_like randint_like new_zeros new_ones new_full
    new_empty new_empty_strided detach equal is_same_size nonzero count_nonzero bucketize
    searchsorted bernoulli _local_scalar_dense set_""".split())
