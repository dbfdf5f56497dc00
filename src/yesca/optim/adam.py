"""Adam, and the part of it that AdamW shares."""

from typing import Any

from ..base import absent
from .. import functional as ops
from .._tensor import Tensor
from ..core.dtypes import float32
from .batches import as_real, batches, check_fused, refuse_sparse, zeros
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
    _evaluate,
    _get_value,
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
        loss = _evaluate(closure)
        for group in self.param_groups:
            for params, grads in batches(group):
                self._update(group, params, grads)
        return loss

    def _update(self, group: dict[str, Any], params: list[Tensor], grads: list[Tensor]) -> None:
        """Update parameters of one device and dtype."""
        if group["foreach"] and not group["capturable"]:
            _refuse_tensor("lr", group["lr"], RuntimeError)
        state = self.state
        states = [state[param] for param in params]
        if not all(states):
            self._create_states(group, params, grads)
        steps = [state["step"] for state in states]
        counted = group["differentiable"] or any(step.dtype is not float32 for step in steps)
        if counted:  # elsewhere the launch counts them
            ops._foreach_add_(steps, 1)
        averages = [
            [state["exp_avg"] for state in states],
            [state["exp_avg_sq"] for state in states],
            [state["max_exp_avg_sq"] for state in states] if group["amsgrad"] else [],
        ]
        if params[0].is_complex():
            params, grads, *averages = map(as_real, (params, grads, *averages))
        if group["differentiable"]:
            _update_composed(group, params, grads, *averages, steps)
        else:
            _launch(group, params, grads, *averages, steps, not counted)

    def _create_states(
        self, group: dict[str, Any], params: list[Tensor], grads: list[Tensor]
    ) -> None:
        check_fused(group, params[0])
        for param, grad in zip(params, grads):
            refuse_sparse(self, grad, ", please consider SparseAdam instead")
            state = self.state[param]
            if state:
                continue
            if group["capturable"] or group["fused"]:
                state["step"] = ops.zeros((), dtype=float32, device=param.device)
            else:
                state["step"] = _scalar_state(0.0)
            state["exp_avg"] = zeros(param)
            state["exp_avg_sq"] = zeros(param)
            if group["amsgrad"]:
                state["max_exp_avg_sq"] = zeros(param)


def _launch(group, params, grads, exp_avgs, exp_avg_sqs, max_exp_avg_sqs, steps,
            count) -> None:
    """Update all these parameters, and count the step if asked to, in one launch."""
    if not count:  # the default dtype may have been float64 when they were made
        steps = [step.to(float32) for step in steps]
    launch = ops._fused_adamw_ if group["decoupled_weight_decay"] else ops._fused_adam_
    beta1, beta2 = group["betas"]
    launch(
        params,
        grads,
        exp_avgs,
        exp_avg_sqs,
        max_exp_avg_sqs,
        steps,
        lr=_get_value(group["lr"]),
        beta1=_get_value(beta1),
        beta2=_get_value(beta2),
        weight_decay=_get_value(group["weight_decay"]),
        eps=group["eps"],
        amsgrad=group["amsgrad"],
        maximize=group["maximize"],
        count=count,
    )


def _update_composed(group, params, grads, exp_avgs, exp_avg_sqs, max_exp_avg_sqs, steps) -> None:
    """The same update by ordinary operators, so that backward can pass through it.

    What a product or quotient saves must not be overwritten by a later step: hence the clones.
    """
    lr, weight_decay = _to_scalar(group["lr"]), group["weight_decay"]
    beta1, beta2 = map(_get_value, group["betas"])
    for index, (param, grad) in enumerate(zip(params, grads)):
        exp_avg, exp_avg_sq, step = exp_avgs[index], exp_avg_sqs[index], steps[index].item()
        grad = -grad if group["maximize"] else grad
        if group["decoupled_weight_decay"]:
            param.mul_(1 - lr * weight_decay)
        elif isinstance(weight_decay, Tensor):
            grad = grad.addcmul(param.clone(), weight_decay)
        elif weight_decay != 0:
            grad = grad.add(param, alpha=weight_decay)
        exp_avg.lerp_(grad, 1 - beta1)
        exp_avg_sq.mul_(beta2).addcmul_(grad, grad, value=1 - beta2)
        second = exp_avg_sq
        if group["amsgrad"]:
            greatest = max_exp_avg_sqs[index]
            second = greatest.copy_(ops.maximum(greatest.clone(), exp_avg_sq.clone()))
        denominator = second.sqrt() / (1 - beta2**step) ** 0.5 + group["eps"]
        param.addcdiv_(exp_avg.clone() * (-lr / (1 - beta1**step)), denominator)


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


__getattr__ = absent.names_of(__name__)
