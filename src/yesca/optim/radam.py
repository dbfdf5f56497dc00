"""RAdam: Adam with a rectified adaptive rate."""

from typing import Any

from ..base import absent
from .._tensor import Tensor
from .batches import decayed, update_each, zeros
from .checks import check_betas, check_learning_rate, check_not_negative
from .optimizer import Closure, Optimizer, ParamsT, _scalar_state, _use_grad_for_differentiable


class RAdam(Optimizer):
    """Adam that divides by the second average only once its variance is bounded.

    Args:
        params: parameters, named parameters or parameter groups.
        lr: learning rate.
        betas: decay rates of the two averages.
        eps: added to the denominator.
        weight_decay: adds `weight_decay * param` to the gradient; with `decoupled_weight_decay`,
            shrinks the parameter by `1 - lr * weight_decay` instead.
        maximize, differentiable, foreach, capturable: as for `Adam`.

    State: `step` (0-dim), `exp_avg`, `exp_avg_sq`.
    """

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        decoupled_weight_decay: bool = False,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
        capturable: bool = False,
        differentiable: bool = False,
    ) -> None:
        check_learning_rate(lr)
        check_not_negative("epsilon value", eps)
        check_betas(betas)
        check_not_negative("weight_decay value", weight_decay)
        defaults = {
            "lr": lr,
            "betas": betas,
            "eps": eps,
            "weight_decay": weight_decay,
            "maximize": maximize,
            "foreach": foreach,
            "capturable": capturable,
            "decoupled_weight_decay": decoupled_weight_decay,
            "differentiable": differentiable,
        }
        super().__init__(params, defaults)

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        self._restore(
            foreach=None,
            maximize=False,
            differentiable=False,
            decoupled_weight_decay=False,
            capturable=False,
        )

    @_use_grad_for_differentiable
    def step(self, closure: Closure | None = None) -> Any:
        """Update the parameters once; returns the loss of `closure`, if one is given."""
        return update_each(self, closure, _new_state, _update)


def _new_state(group, param):
    return {"step": _scalar_state(0), "exp_avg": zeros(param), "exp_avg_sq": zeros(param)}


def _update(options, param, grad, state):
    beta1, beta2 = options.betas
    step = state["step"].item()
    if not options.decoupled_weight_decay:
        grad = decayed(options, param, grad)
    elif options.weight_decay != 0:
        param.mul_(1 - options.lr * options.weight_decay)
    exp_avg = state["exp_avg"].lerp_(grad, 1 - beta1)
    exp_avg_sq = state["exp_avg_sq"].mul_(beta2).addcmul_(grad, grad, value=1 - beta2)
    correction2 = 1 - beta2**step
    update = exp_avg / (1 - beta1**step) * options.lr
    # The length of the moving average, at the limit and now: below 5 its variance is unbounded.
    limit = 2 / (1 - beta2) - 1
    length = limit - 2 * step * beta2**step / correction2
    if length > 5.0:
        adaptive = correction2**0.5 / exp_avg_sq.sqrt().add(options.eps)
        variance = (length - 4) * (length - 2) * limit / ((limit - 4) * (limit - 2) * length)
        update = update * adaptive * variance**0.5
    param.add_(update, alpha=-1.0)


__getattr__ = absent.names_of(__name__)
