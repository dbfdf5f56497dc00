"""Operators on lists of tensors under PyTorch's names: `_fused_adam_`, `_foreach_add_`, ..."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ..core.tensor_base import TensorBase
from ..operators.optimizers import NonFinite
from .call import OPERATORS
from .state import STATE, set_grad


def _off_tape(function: Callable[..., Any]) -> Callable[..., Any]:
    """Update rules never join the tape."""

    def run(*args: Any, **kwargs: Any) -> Any:
        before = STATE.grad
        if not before:
            return function(*args, **kwargs)
        set_grad(False)
        try:
            return function(*args, **kwargs)
        finally:
            set_grad(before)

    run.__name__ = function.__name__
    run.__doc__ = function.__doc__
    return run


@_off_tape
def run_step(rule: str, *arguments: Any) -> None:
    """One step by a rule of `operators.optimizers` for all parameters, in one launch."""
    getattr(OPERATORS, f"_{rule}_step")(*arguments)


@_off_tape
def _fused_sgd_(params: Sequence[Any], grads: Sequence[Any], momentum_buffer_list: Sequence[Any],
                *, weight_decay: float, momentum: float, lr: Any, dampening: float,
                nesterov: bool, maximize: bool, is_first_step: bool, grad_scale: Any = None,
                found_inf: Any = None) -> None:
    """One step of SGD for all parameters, in one launch."""
    grads = unscaled(grads, grad_scale, found_inf)
    if grads is not None:
        run_step(
            "sgd", params, grads, [], momentum_buffer_list, weight_decay, momentum, lr, dampening,
            nesterov, is_first_step, maximize, False)


def _adam(name: str, decoupled: bool) -> Callable[..., Any]:
    def function(params: Sequence[Any], grads: Sequence[Any], exp_avgs: Sequence[Any],
                 exp_avg_sqs: Sequence[Any], max_exp_avg_sqs: Sequence[Any],
                 state_steps: Sequence[Any], *, lr: Any, beta1: float, beta2: float,
                 weight_decay: float, eps: float, amsgrad: bool, maximize: bool,
                 grad_scale: Any = None, found_inf: Any = None, count: bool = False) -> None:
        grads = unscaled(grads, grad_scale, found_inf)  # type: ignore[assignment]
        if grads is not None:
            run_step(
                "adam", params, grads, state_steps, exp_avgs, exp_avg_sqs,
                max_exp_avg_sqs if amsgrad else [], lr, beta1, beta2, weight_decay, eps,
                decoupled, maximize, count)

    function.__name__ = name
    function.__doc__ = ("One step of the optimizer for all parameters, in one launch; `count` "
                        "adds 1 to the state_steps before.")
    return _off_tape(function)


def unscaled(grads: Sequence[Any], scale: Any, found_inf: Any) -> Sequence[Any] | None:
    """Gradients freed of the factor of a `GradScaler`, in place; None if one was not finite."""
    if found_inf is not None and float(found_inf):
        return None
    return grads if scale is None else [OPERATORS.div_(g, scale) for g in grads]


def _foreach_inplace(name: str) -> Callable[..., Any]:
    def function(self: Sequence[Any], other: Any, *, alpha: Any = 1) -> None:
        if isinstance(other, (list, tuple)) and other and isinstance(other[0], TensorBase):
            getattr(OPERATORS, f"_each_{name}_list")(self, other, alpha)
        elif isinstance(other, (list, tuple)):
            for tensor, number in zip(self, other, strict=True):
                getattr(OPERATORS, f"_each_{name}_number")([tensor], number)
        else:
            number = other.item() if isinstance(other, TensorBase) else other
            getattr(OPERATORS, f"_each_{name}_number")(self, number * alpha)

    function.__name__ = f"_foreach_{name}_"
    function.__doc__ = f"`{name}_` on every tensor of a list, in one launch."
    return _off_tape(function)


def _foreach(name: str) -> Callable[..., Any]:
    """The form that makes new tensors, one launch each."""

    def function(self: Sequence[Any], *rest: Any, **options: Any) -> list[Any]:
        operator = getattr(OPERATORS, name)
        made = []
        for k, tensor in enumerate(self):
            given = [r[k] if isinstance(r, (list, tuple)) else r for r in rest]
            made.append(operator(tensor, *given, **options))
        return made

    function.__name__ = f"_foreach_{name}"
    function.__doc__ = f"`{name}` of every tensor of a list."
    return function


@_off_tape
def _foreach_lerp_(self: Sequence[Any], tensors1: Sequence[Any], weight: Any) -> None:
    """`lerp_` on every tensor of a list, in one launch."""
    OPERATORS._each_lerp(self, tensors1, weight)


@_off_tape
def _amp_foreach_non_finite_check_and_unscale_(self: Sequence[Any], found_inf: Any,
                                               inv_scale: Any) -> None:
    """Every tensor times inv_scale, in one launch; found_inf becomes 1 if any is not finite."""
    try:
        OPERATORS._each_unscale(self, inv_scale.item())
    except NonFinite:
        OPERATORS.fill_(found_inf, 1.0)


@_off_tape
def _amp_update_scale_(self: Any, growth_tracker: Any, found_inf: Any,
                       scale_growth_factor: float, scale_backoff_factor: float,
                       growth_interval: int) -> Any:
    """The scale after one iteration: smaller after an infinity, larger after a long quiet time."""
    if float(found_inf):
        OPERATORS.mul_(self, scale_backoff_factor)
        OPERATORS.fill_(growth_tracker, 0)
    elif growth_tracker.item() + 1 == growth_interval:
        if float(self) * scale_growth_factor <= _FLOAT32_MAX:  # else it stays as it is
            OPERATORS.mul_(self, scale_growth_factor)
        OPERATORS.fill_(growth_tracker, 0)
    else:
        OPERATORS.add_(growth_tracker, 1)
    return self


_FLOAT32_MAX = 3.4028234663852886e38
FUNCTIONS: dict[str, Callable[..., Any]] = {
    "_amp_foreach_non_finite_check_and_unscale_": _amp_foreach_non_finite_check_and_unscale_,
    "_amp_update_scale_": _amp_update_scale_,
    "_fused_sgd_": _fused_sgd_,
    "_fused_adam_": _adam("_fused_adam_", False),
    "_fused_adamw_": _adam("_fused_adamw_", True),
    "_foreach_lerp_": _foreach_lerp_,
    **{f"_foreach_{n}_": _foreach_inplace(n) for n in ("add", "mul", "div")},
    **{f"_foreach_{n}": _foreach(n) for n in (
        "add", "sub", "mul", "div", "sqrt", "neg", "abs", "exp", "log", "pow", "norm", "maximum",
        "minimum", "lerp", "addcmul", "addcdiv", "reciprocal", "sign")},
}
