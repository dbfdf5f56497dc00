"""Adam, and the part of it that AdamW shares."""

from typing import Any

from .. import functional as ops
from .._tensor import Tensor
from ..core.dtypes import float32
from .batches import run_lists, update_all, zeros
from .checks import (
    check_betas,
    check_implementation,
    check_learning_rate,
    check_not_negative,
    check_single,
)
from .optimizer import (
    Closure,
    Optimizer,
    ParamsT,
    _scalar_state,
    _to_scalar,
    _use_grad_for_differentiable,
)


class Adam(Optimizer):
    """Adam: steps of the size `lr`, scaled by running averages of the gradient and its square.

    With `m` and `v` the averages (rates `betas`) and `t` the step number:
    `param -= lr / (1 - beta1 ** t) * m / (sqrt(v / (1 - beta2 ** t)) + eps)`.

    Args:
        params: parameters, named parameters or parameter groups.
        lr: learning rate, a number or a tensor of one element.
        betas: decay rates of the two averages, both floats or both tensors.
        eps: added to the denominator.
        weight_decay: adds `weight_decay * param` to the gradient; with `decoupled_weight_decay`,
            shrinks the parameter by `1 - lr * weight_decay` instead.
        amsgrad: divide by the greatest `v` so far.
        maximize: climb instead of descend.
        differentiable: record the update for backward.
        foreach, fused, capturable: accepted; a group is updated by one kernel anyway.

    State: `step` (0-dim), `exp_avg`, `exp_avg_sq` and, with amsgrad, `max_exp_avg_sq`.

    >>> weight = torch.tensor([1.0], requires_grad=True)
    >>> optimizer = torch.optim.Adam([weight], lr=0.25)
    >>> weight.sum().backward()
    >>> optimizer.step()
    >>> weight.item()
    0.75
    """

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 1e-3,
        betas: tuple[float | Tensor, float | Tensor] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        amsgrad: bool = False,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
        capturable: bool = False,
        differentiable: bool = False,
        fused: bool | None = None,
        decoupled_weight_decay: bool = False,
    ) -> None:
        if foreach and not capturable:
            _refuse_tensor("lr", lr)
        check_learning_rate(lr)
        check_not_negative("epsilon value", eps)
        check_betas(betas)
        check_not_negative("weight_decay value", weight_decay)
        _check_betas_alike(betas, bool(foreach) and not capturable)
        check_implementation(fused, foreach, differentiable)
        defaults = {
            "lr": lr,
            "betas": tuple(map(_to_scalar, betas)),
            "eps": eps,
            "weight_decay": weight_decay,
            "amsgrad": amsgrad,
            "maximize": maximize,
            "foreach": foreach,
            "capturable": capturable,
            "differentiable": differentiable,
            "fused": fused,
            "decoupled_weight_decay": decoupled_weight_decay,
        }
        super().__init__(params, defaults)

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        self._restore(
            amsgrad=False,
            maximize=False,
            foreach=None,
            capturable=False,
            differentiable=False,
            decoupled_weight_decay=False,
            fused=None,
        )

    @_use_grad_for_differentiable
    def step(self, closure: Closure | None = None) -> Any:
        """Update the parameters once; returns the loss of `closure`, if one is given."""
        for group in self.param_groups:
            if group["foreach"] and not group["capturable"]:
                _refuse_tensor("lr", group["lr"], RuntimeError)
        return update_all(self, closure, "adam", _new_state, _names,
                          refusal="Adam does not support sparse gradients, please consider "
                                  "SparseAdam instead")


def _names(group: dict[str, Any]) -> tuple[str | bool, ...]:
    return "exp_avg", "exp_avg_sq", group["amsgrad"] and "max_exp_avg_sq"


def _new_state(group: dict[str, Any], param: Tensor) -> dict[str, Tensor]:
    if group["capturable"] or group["fused"]:
        step = ops.zeros((), dtype=float32, device=param.device)
    else:
        step = _scalar_state(0.0)
    names = [name for name in _names(group) if name]
    return {"step": step, **{name: zeros(param) for name in names}}


def _refuse_tensor(name: str, value: Any, error: type[Exception] = ValueError) -> None:
    if isinstance(value, Tensor):
        raise error(
            f"{name} as a Tensor is not supported for capturable=False and foreach=True; "
            "give a float or leave foreach out"
        )


def _check_betas_alike(betas: tuple, refuse_tensors: bool) -> None:
    both_floats = isinstance(betas[0], float) and isinstance(betas[1], float)
    both_tensors = isinstance(betas[0], Tensor) and isinstance(betas[1], Tensor)
    if not (both_floats or both_tensors):
        raise ValueError(f"betas must be either both floats or both Tensors, not {betas}")
    for index, beta in enumerate(betas[:2]):
        if refuse_tensors:
            _refuse_tensor(f"betas[{index}]", beta)
        check_single(f"betas[{index}]", beta)


def adam(
    params: list[Tensor], grads: list[Tensor], exp_avgs: list[Tensor], exp_avg_sqs: list[Tensor],
    max_exp_avg_sqs: list[Tensor], state_steps: list[Tensor], foreach: bool | None = None,
    capturable: bool = False, differentiable: bool = False, fused: bool | None = None,
    grad_scale: Tensor | None = None, found_inf: Tensor | None = None, has_complex: bool = False,
    decoupled_weight_decay: bool = False, *, amsgrad: bool, beta1: float | Tensor,
    beta2: float | Tensor, lr: float | Tensor, weight_decay: float, eps: float, maximize: bool,
) -> None:
    """One step of `Adam` on lists with a tensor a parameter, written in place, without gradients.

    Args:
        params, grads, exp_avgs, exp_avg_sqs: tensors of equal shapes, parameter by parameter.
        max_exp_avg_sqs: likewise with `amsgrad`; else not looked at.
        state_steps: 0-dim tensors, one further on afterwards.
        grad_scale, found_inf: what `GradScaler` multiplied the gradients by, and the tensor that
            is 1 where nothing may change.
        amsgrad, beta1, beta2, lr, weight_decay, eps, maximize, decoupled_weight_decay,
            differentiable: options of the class.
        foreach, fused, capturable, has_complex: accepted; all is one launch anyway.

    Raises:
        RuntimeError: a step that is a number, lists of different lengths, or a leaf of the tape
            while gradients are recorded.

    >>> param, grad = torch.ones(1), torch.ones(1)
    >>> mean, square, step = torch.zeros(1), torch.zeros(1), torch.tensor(0.0)
    >>> torch.optim.adam.adam([param], [grad], [mean], [square], [], [step], amsgrad=False,
    ...     beta1=0.5, beta2=0.5, lr=0.25, weight_decay=0, eps=0, maximize=False)
    >>> param.item(), mean.item(), step.item()
    (0.75, 0.5, 1.0)
    """
    group = {
        "lr": lr, "betas": (beta1, beta2), "eps": eps, "weight_decay": weight_decay,
        "decoupled_weight_decay": decoupled_weight_decay, "maximize": maximize,
        "differentiable": differentiable,
    }
    states = [exp_avgs, exp_avg_sqs, max_exp_avg_sqs if amsgrad else None]
    run_lists("adam", group, params, grads, state_steps, states, scaling=(grad_scale, found_inf))
