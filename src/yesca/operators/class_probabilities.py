"""cross_entropy with probabilities for targets: the records behind `cross_entropy`.

One launch forward, one backward; the logarithm of the softmax is kept for backward, as where the
targets are classes (`classification.py`).
"""

from __future__ import annotations

import math
from typing import Any

from ..core.spec import spec
from ..loops.ir import Expr, cast, fold
from ..loops.scalar import exp
from .classification import class_dim, classes_last
from .kinds import compute_dtype, rows
from .softmax_family import log_soft


def _probabilities(p: Any, input: Any, target: Any, weight: Any, reduction: str,
                   smoothing: float, keep: bool) -> None:
    dtype = input.spec.dtype
    shape = tuple(input.spec.shape)
    result = p.promote([input, target, *([] if weight is None else [weight])], [])
    wide = compute_dtype(result)
    at = class_dim(len(shape))
    outer = shape[:at] + shape[at + 1:]
    none = reduction == "none"
    loss = p.result(spec(result, outer if none else (), None, p.device))
    kept = p.result(spec(dtype, shape if keep else (0,), None, p.device))
    x = classes_last(input)
    classes = x.spec.shape[-1]
    losses = loss if none else p.temporary(outer, wide)
    outputs = [losses.as_rows()] + ([classes_last(kept)] if keep else [])

    def body(load: Expr, t: Expr, *rest: Expr) -> tuple[Expr, ...]:
        value = log_soft(cast(load, compute_dtype(dtype)))
        t = _smoothed(p, cast(t, wide), smoothing, classes)
        each = t * cast(value, wide)
        each = each * cast(rest[0], wide) if rest else each
        return (-fold("sum", each), value)[:len(outputs)]

    operands = [x, classes_last(target)] + ([weight] if weight is not None else [])
    p.rows(body, operands, outputs, outer, classes)
    if not none:
        count = math.prod(outer)
        p.reduce("sum", lambda v: cast(v, wide), lambda v: v / p.fixed(count, wide)
                 if reduction == "mean" else v, losses, range(len(outer)), loss)


def _smoothed(p: Any, t: Expr, smoothing: float, classes: int) -> Expr:
    if not smoothing:
        return t
    return t * (1.0 - smoothing) + p.fixed(smoothing / classes, t.dtype)


def _probabilities_backward(p: Any, grad_output: Any, log_probabilities: Any, target: Any,
                            weight: Any, reduction: str, smoothing: float, input_dtype: Any
                            ) -> None:
    made = p.result(spec(input_dtype, log_probabilities.spec.shape, None, p.device))
    y = classes_last(log_probabilities)
    outer, classes = tuple(y.spec.shape[:-1]), y.spec.shape[-1]
    wide = compute_dtype(p.promote([log_probabilities, target], []))

    def body(load: Expr, t: Expr, g: Expr, *rest: Expr) -> Expr:
        g = cast(g, wide)
        g = g / p.fixed(math.prod(outer), wide) if reduction == "mean" else g
        each = _smoothed(p, cast(t, wide), smoothing, classes)
        each = each * cast(rest[0], wide) if rest else each
        return (exp(cast(load, wide)) * fold("sum", each) - each) * g

    operands = [y, classes_last(target), grad_output.as_rows()]
    p.rows(body, operands + ([weight] if weight is not None else []), [classes_last(made)],
           outer, classes)


def _outer_grad(ops: Any, grad: Any, reduction: str, ndim: int, shape: tuple[int, ...]) -> Any:
    """The loss's gradient, ready to broadcast over (N, C, ...)."""
    if reduction == "none":
        return ops.unsqueeze(grad, class_dim(ndim))
    at = class_dim(ndim)
    return ops.div(grad, math.prod(shape[:at] + shape[at + 1:])) if reduction == "mean" else grad


def _by_class(ops: Any, weight: Any, ndim: int) -> Any:
    shape = [1] * ndim
    shape[class_dim(ndim)] = -1
    return ops.reshape(weight, tuple(shape))


def _target_back(ops: Any, grad: Any, log_probabilities: Any, weight: Any, reduction: str,
                 smoothing: float, dtype: Any) -> Any:
    """The target's gradient: minus the (weighted) logarithm of the probabilities."""
    ndim = log_probabilities.dim()
    outer = _outer_grad(ops, grad, reduction, ndim, tuple(log_probabilities.shape))
    made = ops.mul(log_probabilities, ops.mul(outer, smoothing - 1.0))
    made = made if weight is None else ops.mul(made, _by_class(ops, weight, ndim))
    return made if made.dtype is dtype else ops.to_dtype(made, dtype)


def _probabilities_second(ops: Any, grad: Any, grad_output: Any, log_probabilities: Any,
                          target: Any, weight: Any, reduction: str, smoothing: float,
                          input_dtype: Any) -> tuple[Any, Any, Any]:
    ndim = log_probabilities.dim()
    at, shape = class_dim(ndim), tuple(log_probabilities.shape)
    outer = _outer_grad(ops, grad_output, reduction, ndim, shape)
    each = ops.add(ops.mul(target, 1.0 - smoothing), smoothing / shape[at])
    each = each if weight is None else ops.mul(each, _by_class(ops, weight, ndim))
    raised = ops.exp(log_probabilities)
    total = ops.sum(each, (at,), True)
    along = ops.mul(grad, ops.sub(ops.mul(raised, total), each))
    if reduction == "none":
        to_output = ops.sum(along, (at,))
    else:
        count = math.prod(shape[:at] + shape[at + 1:]) if reduction == "mean" else 1
        to_output = ops.div(ops.sum(along), count)
    inner = ops.mul(grad, raised)
    to_logs = ops.mul(ops.mul(inner, total), outer)
    rate = ops.mul(outer, 1.0 - smoothing)
    to_target = ops.mul(ops.sub(ops.sum(inner, (at,), True), grad), rate)
    if weight is not None:
        to_target = ops.mul(to_target, _by_class(ops, weight, ndim))
    return to_output, to_logs, to_target


rows("cross_entropy_probabilities_backward(Tensor grad_output, Tensor log_probabilities, "
     "Tensor target, Tensor? weight, str reduction, any smoothing, dtype input_dtype) -> Tensor",
     _probabilities_backward, method=False, node_name="MulBackward0",
     backward={("grad_output", "log_probabilities", "target"): _probabilities_second})


def _probabilities_back(ops: Any, grads: Any, input_spec: Any, target: Any, weight: Any,
                        reduction: str, smoothing: float, result1: Any, needs: Any,
                        target_spec: Any) -> tuple[Any, Any]:
    to_input = to_target = None
    if grads[0] is not None:
        if needs[0]:
            to_input = ops.cross_entropy_probabilities_backward(
                grads[0], result1, target, weight, reduction, smoothing, input_spec.dtype)
        if needs[1]:
            to_target = _target_back(ops, grads[0], result1, weight, reduction, smoothing,
                                     target_spec.dtype)
    if grads[1] is not None and needs[0]:
        other = ops.log_softmax_backward_data(grads[1], result1, class_dim(input_spec.ndim),
                                              input_spec.dtype)
        to_input = other if to_input is None else ops.add(to_input, other)
    return to_input, to_target


rows("cross_entropy_probabilities(Tensor input, Tensor target, Tensor? weight, str reduction, "
     "any smoothing, bool keep) -> (Tensor, Tensor)", _probabilities, method=False,
     node_name=lambda plan: "DivBackward1" if plan.values[3] == "mean" else "NegBackward0",
     backward={("input", "target"): _probabilities_back})
