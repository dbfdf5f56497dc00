"""Adamax: Adam with the infinity norm."""

from typing import Any

from .._tensor import Tensor
from .batches import run_lists, update_all, zeros
from .checks import check_betas, check_learning_rate, check_not_negative
from .optimizer import Closure, Optimizer, ParamsT, _scalar_state, _use_grad_for_differentiable


class Adamax(Optimizer):
    """Adam that divides by a decaying maximum of the gradient's magnitude.

    Args:
        params: parameters, named parameters or parameter groups.
        lr: learning rate.
        betas: decay rates of the average and of the maximum.
        eps: added to the magnitude.
        weight_decay: adds `weight_decay * param` to the gradient.
        maximize, differentiable, foreach, capturable: as for `Adam`.

    State: `step` (0-dim), `exp_avg`, `exp_inf`.
    """

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 2e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        foreach: bool | None = None,
        *,
        maximize: bool = False,
        differentiable: bool = False,
        capturable: bool = False,
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
            "foreach": foreach,
            "maximize": maximize,
            "differentiable": differentiable,
            "capturable": capturable,
        }
        super().__init__(params, defaults)

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        self._restore(foreach=None, maximize=False, differentiable=False, capturable=False)

    @_use_grad_for_differentiable
    def step(self, closure: Closure | None = None) -> Any:
        """Update the parameters once; returns the loss of `closure`, if one is given."""
        names = ("exp_avg", "exp_inf")
        return update_all(self, closure, "adamax", _new_state, lambda group: names)


def _new_state(group, param):
    return {"step": _scalar_state(0), "exp_avg": zeros(param), "exp_inf": zeros(param)}


def adamax(
    params: list[Tensor], grads: list[Tensor], exp_avgs: list[Tensor], exp_infs: list[Tensor],
    state_steps: list[Tensor], foreach: bool | None = None, maximize: bool = False,
    differentiable: bool = False, capturable: bool = False, has_complex: bool = False, *,
    eps: float, beta1: float | Tensor, beta2: float | Tensor, lr: float | Tensor,
    weight_decay: float,
) -> None:
    """One step of `Adamax` on lists with a tensor a parameter; in place (see `adam`)."""
    group = {
        "lr": lr, "betas": (beta1, beta2), "eps": eps, "weight_decay": weight_decay,
        "maximize": maximize, "differentiable": differentiable,
    }
    run_lists("adamax", group, params, grads, state_steps, [exp_avgs, exp_infs])
