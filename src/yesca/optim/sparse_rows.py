"""Steps with sparse gradients: only the rows of the parameter that have one are read and written.

The gradients come from tables whose rows were looked up with `sparse=True`.
"""

from __future__ import annotations

from collections.abc import Callable
from operator import attrgetter
from typing import Any

from .._tensor import Tensor
from .optimizer import _get_value

_is_sparse = attrgetter("is_sparse")

#: What a rule does for one parameter: group, parameter, sparse gradient, state.
Rule = Callable[[dict[str, Any], Tensor, Any, dict[str, Any]], None]


def take_sparse(
    state: Any, group: dict[str, Any], params: list[Tensor], grads: list[Tensor], rule: Rule
) -> tuple[list[Tensor], list[Tensor]]:
    """Run the rule where the gradient is sparse; gives the other parameters and gradients back."""
    if not any(map(_is_sparse, grads)):
        return params, grads
    rest = []
    for param, grad in zip(params, grads):
        if grad.is_sparse:
            rule(group, param, grad, state[param])
        else:
            rest.append((param, grad))
    return [param for param, _ in rest], [grad for _, grad in rest]


def sgd_rows(group: dict[str, Any], param: Tensor, grad: Any, state: dict[str, Any]) -> None:
    """Gradient descent; the buffer of the momentum is a sparse tensor that gains rows."""
    if group["fused"]:
        raise RuntimeError("`_fused_sgd` does not support sparse gradients; leave fused out")
    grad = -grad if group["maximize"] else grad
    if group["weight_decay"] != 0:
        grad = grad.add(param, alpha=group["weight_decay"])  # refused: it would be dense
    momentum = group["momentum"]
    if momentum != 0:
        grad = grad.coalesce()  # a buffer with each row once does not grow with every step
        buffer = state.get("momentum_buffer")
        if buffer is None:
            buffer = state["momentum_buffer"] = grad.clone().detach()
        else:
            buffer.mul_(momentum).add_(grad, alpha=1 - group["dampening"])
        grad = grad.add(buffer, alpha=momentum) if group["nesterov"] else buffer
    param.add_(grad, alpha=-_get_value(group["lr"]))


def adagrad_rows(group: dict[str, Any], param: Tensor, grad: Any, state: dict[str, Any]) -> None:
    """Steps divided by the root of the sum of all squared gradients of a row."""
    if group["fused"]:
        raise RuntimeError("`fused` does not support sparse grad or complex param; leave it out")
    if group["weight_decay"] != 0:
        raise RuntimeError("weight_decay option is not compatible with sparse gradients")
    state["step"] += 1
    rate = group["lr"] / (1 + (_get_value(state["step"]) - 1) * group["lr_decay"])
    grad = (-grad if group["maximize"] else grad).coalesce()
    state["sum"].add_(grad.pow(2))
    roots = state["sum"].sparse_mask(grad).sqrt()._values().add_(group["eps"])
    param.add_(grad._with(grad._values() / roots), alpha=-_get_value(rate))


def adam_rows(
    param: Tensor, grad: Any, exp_avg: Tensor, exp_avg_sq: Tensor, step: int, *,
    eps: float, beta1: float, beta2: float, lr: float | Tensor, maximize: bool,
) -> None:
    """Adam's step for the rows that have a gradient; other rows keep their averages."""
    grad = (-grad if maximize else grad).coalesce()
    values = grad._values()
    averages = []
    for state, new, beta in ((exp_avg, values, beta1), (exp_avg_sq, values * values, beta2)):
        old = state.sparse_mask(grad)._values()
        update = (new - old).mul_(1 - beta)
        state.add_(grad._with(update))
        averages.append(update.add_(old))
    denominator = averages[1].sqrt_().add_(eps)
    size = lr * (1 - beta2**step) ** 0.5 / (1 - beta1**step)
    param.add_(grad._with(averages[0].div_(denominator).mul_(-size)))
