"""Adadelta."""

from typing import Any

from .._tensor import Tensor
from .batches import run_lists, update_all, zeros
from .checks import check_learning_rate, check_not_negative
from .optimizer import Closure, Optimizer, ParamsT, _scalar_state, _use_grad_for_differentiable


class Adadelta(Optimizer):
    """Steps scaled by the ratio of two running averages: of squared updates and of squared grads.

    Args:
        params: parameters, named parameters or parameter groups.
        lr: factor of the update.
        rho: decay rate of both averages, in [0, 1].
        eps: added to both averages under the root.
        weight_decay: adds `weight_decay * param` to the gradient.
        maximize, differentiable, foreach, capturable: as for `Adam`.

    State: `step` (0-dim), `square_avg`, `acc_delta`.
    """

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 1.0,
        rho: float = 0.9,
        eps: float = 1e-6,
        weight_decay: float = 0,
        foreach: bool | None = None,
        *,
        capturable: bool = False,
        maximize: bool = False,
        differentiable: bool = False,
    ) -> None:
        check_learning_rate(lr)
        if not 0.0 <= rho <= 1.0:
            raise ValueError(f"Invalid rho value: {rho}; it must be in [0, 1]")
        check_not_negative("epsilon value", eps)
        check_not_negative("weight_decay value", weight_decay)
        defaults = {
            "lr": lr,
            "rho": rho,
            "eps": eps,
            "weight_decay": weight_decay,
            "maximize": maximize,
            "capturable": capturable,
            "foreach": foreach,
            "differentiable": differentiable,
        }
        super().__init__(params, defaults)

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        self._restore(foreach=None, maximize=False, differentiable=False, capturable=False)

    @_use_grad_for_differentiable
    def step(self, closure: Closure | None = None) -> Any:
        """Update the parameters once; returns the loss of `closure`, if one is given."""
        names = ("square_avg", "acc_delta")
        return update_all(self, closure, "adadelta", _new_state, lambda group: names)


def _new_state(group, param):
    return {"step": _scalar_state(0), "square_avg": zeros(param), "acc_delta": zeros(param)}


def adadelta(
    params: list[Tensor], grads: list[Tensor], square_avgs: list[Tensor],
    acc_deltas: list[Tensor], state_steps: list[Tensor], capturable: bool = False,
    foreach: bool | None = None, differentiable: bool = False, has_complex: bool = False, *,
    lr: float | Tensor, rho: float, eps: float, weight_decay: float, maximize: bool,
) -> None:
    """One step of `Adadelta` on lists with a tensor a parameter; in place (see `adam`)."""
    group = {
        "lr": lr, "rho": rho, "eps": eps, "weight_decay": weight_decay, "maximize": maximize,
        "differentiable": differentiable,
    }
    run_lists("adadelta", group, params, grads, state_steps, [square_avgs, acc_deltas])
