"""From a parameter group to the tensors an update works on.

`step` runs once for every training step, so what is done here for each parameter is kept to a few
attribute reads. Nothing is remembered between steps: users replace gradients, state tensors and
whole parameters at will, and reading them anew costs no more than checking a cache would.
"""

from collections.abc import Callable
from itertools import repeat
from operator import is_not
from types import SimpleNamespace
from typing import Any

from .. import functional as ops
from .._tensor import Tensor
from .optimizer import Closure, Optimizer, _evaluate, _get_value


def with_gradients(group: dict[str, Any]) -> tuple[list[Tensor], list[Tensor]]:
    """The parameters of a group that have a gradient, and the gradients."""
    params = group["params"]
    grads = [param.grad for param in params]
    # `None in grads` would compare tensors with None element by element.
    if all(map(is_not, grads, repeat(None))):
        return params, grads
    params = [param for param, grad in zip(params, grads) if grad is not None]
    return params, [grad for grad in grads if grad is not None]


def batches(group: dict[str, Any]) -> list[tuple[list[Tensor], list[Tensor]]]:
    """Parameters and gradients of a group, one pair of lists for each device and dtype."""
    params, grads = with_gradients(group)
    if not params:
        return []
    device, dtype = params[0].device, params[0].dtype
    if all(param.dtype is dtype and param.device is device for param in params):
        return [(params, grads)]
    kinds: dict[Any, tuple[list[Tensor], list[Tensor]]] = {}
    for param, grad in zip(params, grads):
        of_kind = kinds.setdefault((param.device, param.dtype), ([], []))
        of_kind[0].append(param)
        of_kind[1].append(grad)
    return list(kinds.values())


def as_real(tensors: list[Tensor]) -> list[Tensor]:
    """Real views of complex tensors: the update rules treat both parts as numbers of their own."""
    return [ops.view_as_real(tensor) for tensor in tensors]


def check_fused(group: dict[str, Any], param: Tensor) -> None:
    """Refuse `fused=True` for parameters that are not floating-point, as PyTorch does."""
    if group.get("fused") and not param.is_floating_point():
        raise RuntimeError(
            "`fused=True` requires all the params to be floating point Tensors of supported "
            f"devices: ['cpu'] but {param.dtype} and {param.device.type}; use fused=None"
        )


def refuse_sparse(optimizer: Optimizer, grad: Tensor, hint: str = "") -> None:
    """Raise for a sparse gradient."""
    if grad.is_sparse:
        raise RuntimeError(
            f"{type(optimizer).__name__} does not support sparse gradients{hint}"
        )


def zeros(param: Tensor) -> Tensor:
    """A state tensor of zeros with the shape, dtype and strides of `param`."""
    return ops.zeros_like(param)


def update_each(
    optimizer: Optimizer,
    closure: Closure | None,
    new_state: Callable[[dict[str, Any], Tensor], dict[str, Any]],
    update: Callable[[SimpleNamespace, Tensor, Tensor, dict[str, Any]], None],
) -> Any:
    """One step of an algorithm that treats parameters one by one; returns the loss.

    `new_state(group, param)` makes the state of a parameter at its first step, `"step"` included.
    `update(options, param, grad, state)` changes `param` and `state` in place. Options are the
    group's, with numbers for tensors of one element; complex tensors arrive as real views.
    """
    loss = _evaluate(closure)
    for group in optimizer.param_groups:
        params, grads = with_gradients(group)
        states = []
        for param, grad in zip(params, grads):
            refuse_sparse(optimizer, grad)
            state = optimizer.state[param]
            if not state:
                check_fused(group, param)
                state.update(new_state(group, param))
            states.append(state)
        if states:
            ops._foreach_add_([state["step"] for state in states], 1)
        options = SimpleNamespace(**group)
        options.lr = _get_value(options.lr)
        for param, grad, state in zip(params, grads, states):
            grad = -grad if options.maximize else grad
            if param.is_complex():
                param, grad = as_real([param, grad])
                state = {
                    name: ops.view_as_real(value) if value.is_complex() else value
                    for name, value in state.items()
                }
            update(options, param, grad, state)
    return loss


def decayed(options: SimpleNamespace, param: Tensor, grad: Tensor) -> Tensor:
    """The gradient of the loss plus `weight_decay / 2 * param ** 2`."""
    if options.weight_decay == 0:
        return grad
    return grad.add(param, alpha=options.weight_decay)


def to_save(options: SimpleNamespace, state: Tensor) -> Tensor:
    """A state tensor as factor or divisor: backward must see it as it is now, not updated."""
    return state.clone() if options.differentiable else state
