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
from ..core.dtypes import float32
from ..dispatch.foreach import run_step
from ..operators.optimizers import RULES
from .optimizer import Closure, Optimizer, _evaluate, _get_value, _to_scalar


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


def update_all(
    optimizer: Optimizer,
    closure: Closure | None,
    rule: str | Callable[[dict[str, Any]], str],
    new_state: Callable[[dict[str, Any], Tensor], dict[str, Any]],
    names: Callable[[dict[str, Any]], tuple[str | bool, ...]],
    scalars: tuple[str, ...] = (),
) -> Any:
    """One step of an optimizer whose rule stands in `operators.optimizers`; returns the loss.

    `new_state(group, param)` makes the state of a parameter at its first step, `"step"` included.
    `names(group)` are the entries of it that the rule's lists of states are made of, False for
    those that the group has no use for; `scalars`, those of its 0-dim tensors.
    """
    loss = _evaluate(closure)
    for group in optimizer.param_groups:
        for params, grads in batches(group):
            states = [optimizer.state[param] for param in params]
            if not all(states):
                check_fused(group, params[0])
                for param, grad, state in zip(params, grads, states):
                    refuse_sparse(optimizer, grad)
                    if not state:
                        state.update(new_state(group, param))
            run_rule(
                rule if isinstance(rule, str) else rule(group),
                group,
                params,
                grads,
                [state["step"] for state in states],
                [[state[name] for state in states] if name else [] for name in names(group)],
                [[state[name] for state in states] for name in scalars],
            )
    return loss


def run_rule(
    name: str,
    group: dict[str, Any],
    params: list[Tensor],
    grads: list[Tensor],
    steps: list[Tensor],
    states: list[list[Tensor]],
    scalars: list[list[Tensor]],
    **flags: bool,
) -> None:
    """Update parameters of one device and dtype by a rule, steps counted, states included.

    In one launch, or by ordinary operators where `differentiable` asks for it. flags: those of the
    rule that are no options of the group.
    """
    rule = RULES[name]
    if params[0].is_complex():
        params, grads = as_real(params), as_real([grad.resolve_conj() for grad in grads])
        states = [as_real(values) for values in states]
    chosen = {key: flags[key] if key in flags else bool(group[key]) for key in rule.flags}
    numbers = {key: _option(group, key) for key in rule.numbers}
    composed = group["differentiable"]
    counted = composed or any(step.dtype is not float32 for step in steps)
    if counted and steps:  # elsewhere the launch counts them
        ops._foreach_add_(steps, 1)
    if composed:
        from . import composed as by_operators

        options = SimpleNamespace(**numbers, **chosen)
        by_operators.run(rule, options, group["maximize"], params, grads, steps, states, scalars)
        return
    if counted:  # the default dtype may have been float64 when they were made
        steps = [step.to(float32) for step in steps]
    run_step(name, params, grads, steps, *states, *scalars, *map(_get_value, numbers.values()),
             *chosen.values(), group["maximize"], not counted)


#: Numbers of a rule that are parts of an option: the option, and which part.
_PARTS = {
    "beta1": ("betas", 0),
    "beta2": ("betas", 1),
    "eta_minus": ("etas", 0),
    "eta_plus": ("etas", 1),
    "step_min": ("step_sizes", 0),
    "step_max": ("step_sizes", 1),
}


def _option(group: dict[str, Any], name: str) -> Any:
    """A number of a rule: an option of the group or a part of one, tensors as 0-dim ones."""
    if name in _PARTS:
        option, part = _PARTS[name]
        return _to_scalar(group[option][part])
    return _to_scalar(group[name])
