"""From a parameter group to the tensors an update works on.

`step` runs once for every training step, so what is done here for each parameter is kept to a few
attribute reads. Nothing is remembered between steps: users replace gradients, state tensors and
whole parameters at will, and reading them anew costs no more than checking a cache would.
"""

from collections.abc import Callable, Sequence
from itertools import repeat
from operator import is_not
from types import SimpleNamespace
from typing import Any

from .. import functional as ops
from .._tensor import Tensor
from ..autograd.modes import is_grad_enabled
from ..core.dtypes import float32
from ..dispatch.foreach import run_step, unscaled
from ..dispatch.inplace import check_tape
from ..operators.optimizers import RULES
from .optimizer import Closure, Optimizer, _evaluate, _to_scalar
from .sparse_rows import Rule, take_sparse


def with_gradients(group: dict[str, Any]) -> tuple[list[Tensor], list[Tensor]]:
    """The parameters of a group that have a gradient, and the gradients."""
    params = group["params"]
    grads = [param.grad for param in params]
    # `None in grads` would compare tensors with None element by element.
    if all(map(is_not, grads, repeat(None))):
        return params, grads
    params = [param for param, grad in zip(params, grads) if grad is not None]
    return params, [grad for grad in grads if grad is not None]


def batches(group: dict[str, Any]) -> list[tuple[list[Any], ...]]:
    """Parameters and gradients of a group, one pair of lists for each device and dtype."""
    params, grads = with_gradients(group)
    if not params:
        return []
    return apart(params, grads)


def apart(params: list[Tensor], *beside: list[Any]) -> list[tuple[list[Any], ...]]:
    """The parameters and what stands beside them, one row of lists for each device and dtype."""
    device, dtype = params[0].device, params[0].dtype
    if all(param.dtype is dtype and param.device is device for param in params):
        return [(params, *beside)]
    kinds: dict[Any, tuple[list[Any], ...]] = {}
    for row in zip(params, *beside, strict=True):
        key = row[0].device, row[0].dtype
        lists = kinds.setdefault(key, tuple([] for _ in row))
        for values, value in zip(lists, row):
            values.append(value)
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


def refuse_sparse(optimizer: Optimizer, grad: Tensor, refusal: str = "") -> None:
    """Raise for a sparse gradient."""
    if grad.is_sparse:
        raise RuntimeError(
            refusal or f"{type(optimizer).__name__} does not support sparse gradients"
        )


def refuse_complex(name: str, param: Tensor) -> None:
    """Raise for a complex parameter of the optimizer of this name."""
    if param.is_complex():
        raise RuntimeError(f"{name} does not support complex parameters")


def zeros(param: Tensor) -> Tensor:
    """A state tensor of zeros with the shape, dtype and strides of `param`."""
    return ops.zeros_like(param)


def update_each(
    optimizer: Optimizer,
    closure: Closure | None,
    new_state: Callable[[Tensor], dict[str, Any]],
    update: Callable[[dict[str, Any], Tensor, Tensor, dict[str, Any]], None],
) -> Any:
    """One step of an optimizer whose rule looks at one whole parameter; returns the loss.

    `new_state(grad)` makes the state of a parameter at its first step; `update(group, param, grad,
    state)` is the rule.
    """
    loss = _evaluate(closure)
    for group in optimizer.param_groups:
        for param, grad in zip(*with_gradients(group)):
            refuse_complex(type(optimizer).__name__, param)
            refuse_sparse(optimizer, grad)
            state = optimizer.state[param]
            if not state:
                state.update(new_state(grad))
            update(group, param, grad, state)
    return loss


def update_all(
    optimizer: Optimizer,
    closure: Closure | None,
    rule: str,
    new_state: Callable[[dict[str, Any], Tensor], dict[str, Any]],
    names: Callable[[dict[str, Any]], tuple[str | bool, ...]],
    scalars: tuple[str, ...] = (),
    rows: Rule | None = None,
    refusal: str = "",
) -> Any:
    """One step of an optimizer whose rule stands in `operators.optimizers`; returns the loss.

    `new_state(group, param)` makes the state of a parameter at its first step, `"step"` included.
    `names(group)` are the entries of it that the rule's lists of states are made of, False for
    those that the group has no use for; `scalars`, those of its 0-dim tensors. `rows` is
    what is done with a sparse gradient; without it such are refused, in the words of `refusal`.
    """
    loss = _evaluate(closure)
    for group in optimizer.param_groups:
        for params, grads in batches(group):
            if rows is not None:
                params, grads = take_sparse(optimizer.state, group, params, grads, rows)
                if not params:
                    continue
            states = [optimizer.state[param] for param in params]
            if not all(states):
                check_fused(group, params[0])
                for param, grad, state in zip(params, grads, states):
                    refuse_sparse(optimizer, grad, refusal)
                    if not state:
                        state.update(new_state(group, param))
            run_rule(
                rule,
                group,
                params,
                grads,
                [state["step"] for state in states],
                [[state[name] for state in states] if name else [] for name in names(group)],
                [[state[name] for state in states] for name in scalars],
            )
    return loss


def run_lists(
    name: str,
    group: dict[str, Any],
    params: list[Tensor],
    grads: list[Tensor],
    steps: list[Tensor],
    states: Sequence[list[Tensor] | None],
    scalars: tuple[list[Tensor], ...] = (),
    scaling: tuple[Tensor | None, Tensor | None] = (None, None),
) -> None:
    """`run_rule` on any mixture of devices and dtypes, for the functional forms of optimizers.

    Raises:
        RuntimeError: a step that is a number, lists of different lengths, or parameters that are
            leaves of the tape while gradients are recorded.

    states: lists of the rule; None for those that the options have no use for
    scaling: the factor in all gradients, as `GradScaler` keeps it, and the tensor that is 1 where
        one of them was not finite and nothing may change.
    """
    if not all(isinstance(step, Tensor) for step in steps):
        raise RuntimeError(
            "API has changed, `state_steps` argument must contain a list of singleton tensors"
        )
    given = [[None] * len(params) if values is None else values for values in states]
    for lists in rows(group, params, grads, scaling, steps, *given, *scalars):
        alike, own, counts, *rest = lists
        present = [[] if states[k] is None else rest[k] for k in range(len(states))]
        run_rule(name, group, alike, own, counts, present, rest[len(states):])


def rows(
    group: dict[str, Any],
    params: list[Tensor],
    grads: list[Tensor],
    scaling: tuple[Tensor | None, Tensor | None],
    *beside: list[Any],
) -> list[tuple[list[Any], ...]]:
    """What a functional form is given, checked, cut up as by `apart`; gradients without scale."""
    if any(len(values) != len(params) for values in (grads, *beside)):
        lengths = ", ".join(str(len(values)) for values in (params, grads, *beside))
        raise RuntimeError(
            "parameters, gradients, steps and states must be lists of one length each, but their "
            f"lengths are {lengths}"
        )
    own = unscaled(grads, *scaling)
    if own is None or not params:
        return []
    for param in params if not group["differentiable"] else ():
        check_tape(param, is_grad_enabled(), False)
    return apart(params, list(own), *beside)


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
    numbers = [_option(group, key) for key in rule.numbers]
    composed = group["differentiable"]
    counted = composed or any(step.dtype is not float32 for step in steps)
    if counted and steps:  # elsewhere the launch counts them
        ops._foreach_add_(steps, 1)
    if composed:
        from . import composed as by_operators

        options = SimpleNamespace(**dict(zip(rule.numbers, numbers)), **chosen)
        by_operators.run(rule, options, group["maximize"], params, grads, steps, states, scalars)
        return
    if counted:  # the default dtype may have been float64 when they were made
        steps = [step.to(float32) for step in steps]
    numbers = [x.item() if isinstance(x, Tensor) else x for x in numbers]
    run_step(name, params, grads, steps, *states, *scalars, *numbers, *chosen.values(),
             group["maximize"], not counted)


#: Numbers of a rule that are parts of an option: the option, and which part.
_PARTS = {
    "beta1": ("betas", 0),
    "beta2": ("betas", 1),
    "etaminus": ("etas", 0),
    "etaplus": ("etas", 1),
    "step_size_min": ("step_sizes", 0),
    "step_size_max": ("step_sizes", 1),
}


def _option(group: dict[str, Any], name: str) -> Any:
    """A number of a rule: an option of the group or a part of one, tensors as 0-dim ones."""
    option, part = _PARTS.get(name, (name, None))
    value = group[option] if part is None else group[option][part]
    return _to_scalar(value) if isinstance(value, Tensor) else value
