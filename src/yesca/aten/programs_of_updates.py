"""PyTorch's operators for the update rules of optimizers: what its loops over parameters run.

Each function updates one parameter. `o` has the numbers and flags of the rule
(`operators/optimizers.py`); `step` is a 0-dim tensor, counted before.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

from .._ops import ops
from ..operators.optimizers import RULES

a = ops.aten


def _decayed(o: Any, param: Any, grad: Any) -> Any:
    """Weight decay: in the gradient, or in the parameter itself."""
    if not o.weight_decay:
        return grad
    if getattr(o, "decoupled_weight_decay", False):
        a.mul_.Tensor(param, 1 - o.lr * o.weight_decay)
        return grad
    return a.add.Tensor(grad, param, alpha=o.weight_decay)


def _averages(o: Any, grad: Any, average: Any, square: Any) -> None:
    a.lerp_.Scalar(average, grad, 1 - o.beta1)
    a.mul_.Tensor(square, o.beta2)
    a.addcmul_.default(square, grad, grad, value=1 - o.beta2)


def _sgd(o: Any, step: Any, param: Any, grad: Any, momentum: Any) -> None:
    grad = _decayed(o, param, grad)
    if momentum is not None:
        if o.is_first_step:
            a.copy_.default(momentum, grad)
        else:
            a.mul_.Tensor(momentum, o.momentum)
            a.add_.Tensor(momentum, grad, alpha=1 - o.dampening)
        grad = a.add.Tensor(grad, momentum, alpha=o.momentum) if o.nesterov else momentum
    a.add_.Tensor(param, grad, alpha=-o.lr)


def _adam(o: Any, step: Any, param: Any, grad: Any, average: Any, square: Any, largest: Any
          ) -> None:
    grad = _decayed(o, param, grad)
    _averages(o, grad, average, square)
    count = step.item()
    if largest is not None:
        square = a.maximum.out(largest, square, out=largest)
    root = a.div.Tensor(a.sqrt.default(square), math.sqrt(1 - o.beta2 ** count))
    a.addcdiv_.default(param, average, a.add_.Tensor(root, o.eps),
                       value=-o.lr / (1 - o.beta1 ** count))


def _adagrad(o: Any, step: Any, param: Any, grad: Any, total: Any) -> None:
    count = step.item()
    grad = _decayed(o, param, grad)
    a.addcmul_.default(total, grad, grad, value=1)
    root = a.add_.Tensor(a.sqrt.default(total), o.eps)
    a.addcdiv_.default(param, grad, root, value=-o.lr / (1 + (count - 1) * o.lr_decay))


def _rmsprop(o: Any, step: Any, param: Any, grad: Any, square: Any, momentum: Any, average: Any
             ) -> None:
    grad = _decayed(o, param, grad)
    a.mul_.Tensor(square, o.alpha)
    a.addcmul_.default(square, grad, grad, value=1 - o.alpha)
    if average is not None:
        a.lerp_.Scalar(average, grad, 1 - o.alpha)
        root = a.sqrt_.default(a.addcmul.default(square, average, average, value=-1))
    else:
        root = a.sqrt.default(square)
    root = a.add_.Tensor(root, o.eps)
    if momentum is None:
        a.addcdiv_.default(param, grad, root, value=-o.lr)
        return
    a.mul_.Tensor(momentum, o.momentum)
    a.addcdiv_.default(momentum, grad, root)
    a.add_.Tensor(param, momentum, alpha=-o.lr)


def _adadelta(o: Any, step: Any, param: Any, grad: Any, square: Any, deltas: Any) -> None:
    grad = _decayed(o, param, grad)
    a.mul_.Tensor(square, o.rho)
    a.addcmul_.default(square, grad, grad, value=1 - o.rho)
    root = a.sqrt_.default(a.add.Tensor(square, o.eps))
    delta = a.sqrt_.default(a.add.Tensor(deltas, o.eps))
    a.mul_.Tensor(a.div_.Tensor(delta, root), grad)
    a.mul_.Tensor(deltas, o.rho)
    a.addcmul_.default(deltas, delta, delta, value=1 - o.rho)
    a.add_.Tensor(param, delta, alpha=-o.lr)


def _adamax(o: Any, step: Any, param: Any, grad: Any, average: Any, largest: Any) -> None:
    grad = _decayed(o, param, grad)
    a.lerp_.Scalar(average, grad, 1 - o.beta1)
    a.mul_.Tensor(largest, o.beta2)
    a.maximum.out(largest, a.add_.Tensor(a.abs.default(grad), o.eps), out=largest)
    a.addcdiv_.default(param, average, largest, value=-o.lr / (1 - o.beta1 ** step.item()))


def _nadam(o: Any, step: Any, param: Any, grad: Any, average: Any, square: Any, product: Any
           ) -> None:
    count = step.item()
    grad = _decayed(o, param, grad)
    now, after = (o.beta1 * (1 - 0.5 * 0.96 ** (k * o.momentum_decay))
                  for k in (count, count + 1))
    a.mul_.Tensor(product, now)
    _averages(o, grad, average, square)
    root = a.sqrt.default(a.div.Tensor(square, 1 - o.beta2 ** count))
    following = product.item() * after
    a.add_.Tensor(root, o.eps)
    a.addcdiv_.default(param, grad, root, value=-o.lr * (1 - now) / (1 - product.item()))
    a.addcdiv_.default(param, average, root, value=-o.lr * after / (1 - following))


def _radam(o: Any, step: Any, param: Any, grad: Any, average: Any, square: Any) -> None:
    count = step.item()
    grad = _decayed(o, param, grad)
    _averages(o, grad, average, square)
    second = 1 - o.beta2 ** count
    most = 2 / (1 - o.beta2) - 1
    length = most - 2 * count * o.beta2 ** count / second
    moved = a.mul.Tensor(a.div.Tensor(average, 1 - o.beta1 ** count), o.lr)
    if length > 5:
        root = a.add_.Tensor(a.sqrt.default(square), o.eps)
        moved = a.mul.Tensor(moved, a.mul.Tensor(a.reciprocal.default(root), math.sqrt(second)))
        moved = a.mul.Tensor(moved, math.sqrt(
            (length - 4) * (length - 2) * most / ((most - 4) * (most - 2) * length)))
    a.add_.Tensor(param, moved, alpha=-1.0)


def _of(name: str, update: Callable[..., Any]) -> Callable[..., Any]:
    """The program of a rule: every parameter by itself."""
    rule = RULES[name]
    lists = (*rule.states, *rule.scalars)
    rest = (*rule.numbers, *rule.flags, "maximize", "count")

    def program(params: Any, grads: Any, steps: Any, *given: Any) -> None:
        o = SimpleNamespace(**dict(zip(rest, given[len(lists):], strict=True)))
        for k, (param, grad) in enumerate(zip(params, grads, strict=True)):
            step = steps[k] if steps else None
            if o.count and step is not None:
                a.add_.Tensor(step, 1)
            update(o, step, param, a.neg.default(grad) if o.maximize else grad,
                   *[one[k] if one else None for one in given[:len(lists)]])

    return program


UPDATES = {f"_{name}_step": _of(name, update) for name, update in {
    "sgd": _sgd, "adam": _adam, "adagrad": _adagrad, "rmsprop": _rmsprop,
    "adadelta": _adadelta, "adamax": _adamax, "nadam": _nadam, "radam": _radam}.items()}
