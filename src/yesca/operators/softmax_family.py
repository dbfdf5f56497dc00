"""softmax and log_softmax. Both are differentiated from their results, as in PyTorch."""

from __future__ import annotations

from typing import Any

from ..core.dtypes import FLOATING, DType
from ..core.spec import spec
from ..core.views import movedim, wrap_dim
from ..loops.ir import Expr, cast, fold
from ..loops.scalar import exp, log
from .kinds import compute_dtype, rows


def last(p: Any, x: Any, dim: int) -> Any:
    """x seen with `dim` last; a tensor without dimensions counts as one element."""
    if x.spec.ndim == 0:
        wrap_dim(dim, 1)
        return x.seen(((1,), (1,), 0))
    return x.seen(movedim(x.spec, (wrap_dim(dim, x.spec.ndim),), (-1,)))


def mapped(p: Any, body: Any, inputs: list[Any], made: Any, dim: int) -> None:
    """A rows stage along `dim` of operands and a result of one shape."""
    seen = [last(p, x, dim) for x in (*inputs, made)]
    shape = tuple(seen[-1].spec.shape)
    p.rows(body, seen[:-1], seen[-1:], shape[:-1], shape[-1])


def soft(x: Expr) -> Expr:
    """exp(x), scaled to sum to one along the inner axis."""
    raised = exp(x - fold("max", x))
    return raised / fold("sum", raised)


def log_soft(x: Expr) -> Expr:
    """The logarithm of `soft`."""
    below = x - fold("max", x)
    return below - log(fold("sum", exp(below)))


def _forward(name: str, function: Any) -> Any:
    def program(p: Any, self: Any, dim: int, dtype: DType | None) -> None:
        result = dtype or self.spec.dtype
        if result.category < FLOATING:
            raise NotImplementedError(f'"{name}_lastdim_kernel_impl" not implemented for '
                                      f"'{p.scalar_name(result)}'")
        made = p.result(spec(result, self.spec.shape, None, p.device))
        wide = compute_dtype(result)
        mapped(p, lambda x: function(cast(cast(x, result), wide)), [self], made, dim)
    return program


def _backward(function: Any) -> Any:
    def program(p: Any, grad_output: Any, output: Any, dim: int, input_dtype: DType) -> None:
        made = p.result(spec(input_dtype, output.spec.shape, None, p.device))
        wide = compute_dtype(output.spec.dtype)
        mapped(p, lambda g, y: function(cast(g, wide), cast(y, wide)), [grad_output, output],
               made, dim)
    return program


def _total(ops: Any, x: Any, dim: int) -> Any:
    return ops.sum(x, (dim,), True) if x.dim() else x


softmax = rows(
    "softmax(Tensor self, int dim, dtype? dtype=None) -> Tensor", _forward("softmax", soft),
    out=True, takes="bifc", backward={"self": lambda ops, grad, result, dim, self_spec:
                        ops.softmax_backward_data(grad, result, dim, self_spec.dtype)},
    doc="exp(self) scaled to sum to 1 along dim; dtype converts self first.")
log_softmax = rows(
    "log_softmax(Tensor self, int dim, dtype? dtype=None) -> Tensor",
    _forward("log_softmax", log_soft), out=True, takes="bifc",
    backward={"self": lambda ops, grad, result, dim, self_spec:
              ops.log_softmax_backward_data(grad, result, dim, self_spec.dtype)},
    doc="log(softmax(self)) without overflow or loss of small values.")


def _softmax_second(ops: Any, grad: Any, grad_output: Any, output: Any, dim: int) -> Any:
    inner = ops.sub(grad_output, _total(ops, ops.mul(grad_output, output), dim))
    return ops.sub(ops.mul(grad, inner),
                   ops.mul(grad_output, _total(ops, ops.mul(grad, output), dim)))


rows("softmax_backward_data(Tensor grad_output, Tensor output, int dim, dtype input_dtype) -> "
     "Tensor", _backward(lambda g, y: (g - fold("sum", g * y)) * y), method=False,
     node_name="SoftmaxBackwardDataBackward0",
     backward={"grad_output": lambda ops, grad, output, dim, grad_output_spec:
               ops.softmax_backward_data(grad, output, dim, grad_output_spec.dtype),
               "output": _softmax_second})


def _log_first(ops: Any, grad: Any, output: Any, dim: int) -> Any:
    return ops.sub(grad, _total(ops, ops.mul(grad, ops.exp(output)), dim))


def _log_second(ops: Any, grad: Any, grad_output: Any, output: Any, dim: int) -> Any:
    return ops.neg(ops.mul(ops.mul(grad, _total(ops, grad_output, dim)), ops.exp(output)))


rows("log_softmax_backward_data(Tensor grad_output, Tensor output, int dim, dtype input_dtype) "
     "-> Tensor", _backward(lambda g, y: g - exp(y) * fold("sum", g)), method=False,
     node_name="LogSoftmaxBackwardDataBackward0",
     backward={"grad_output": _log_first, "output": _log_second})
