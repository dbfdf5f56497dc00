"""Averaged stochastic gradient descent."""

from typing import Any

from .._tensor import Tensor
from .batches import run_lists, update_all, zeros
from .checks import check_learning_rate, check_not_negative
from .optimizer import (
    Closure,
    Optimizer,
    ParamsT,
    _get_value,
    _scalar_state,
    _use_grad_for_differentiable,
)


class ASGD(Optimizer):
    """Gradient descent with a falling rate; the average of the iterates is kept in `ax`.

    Args:
        params: parameters, named parameters or parameter groups.
        lr: the first learning rate.
        lambd: decay of the parameters, and of the rate:
            `eta = lr / (1 + lambd * lr * step) ** alpha`.
        alpha: power of that decay.
        t0: the step at which averaging starts.
        weight_decay: adds `weight_decay * param` to the gradient.
        maximize, differentiable, foreach, capturable: as for `Adam`.

    State: `step`, `eta`, `mu` (0-dim), `ax`.
    """

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 1e-2,
        lambd: float = 1e-4,
        alpha: float = 0.75,
        t0: float = 1e6,
        weight_decay: float = 0,
        foreach: bool | None = None,
        maximize: bool = False,
        differentiable: bool = False,
        capturable: bool = False,
    ) -> None:
        check_learning_rate(lr)
        check_not_negative("weight_decay value", weight_decay)
        defaults = {
            "lr": lr,
            "lambd": lambd,
            "alpha": alpha,
            "t0": t0,
            "weight_decay": weight_decay,
            "foreach": foreach,
            "maximize": maximize,
            "differentiable": differentiable,
            "capturable": capturable,
        }
        super().__init__(params, defaults)

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        self._restore(
            ("step", "eta", "mu"),
            foreach=None,
            maximize=False,
            differentiable=False,
            capturable=False,
        )

    @_use_grad_for_differentiable
    def step(self, closure: Closure | None = None) -> Any:
        """Update the parameters once; returns the loss of `closure`, if one is given."""
        return update_all(
            self, closure, "asgd", _new_state, lambda group: ("ax",), ("eta", "mu")
        )


def _new_state(group, param):
    return {
        "step": _scalar_state(0),
        "eta": _scalar_state(_get_value(group["lr"])),
        "mu": _scalar_state(1),
        "ax": zeros(param),
    }


def asgd(
    params: list[Tensor], grads: list[Tensor], axs: list[Tensor], mus: list[Tensor],
    etas: list[Tensor], state_steps: list[Tensor], foreach: bool | None = None,
    maximize: bool = False, differentiable: bool = False, capturable: bool = False,
    has_complex: bool = False, *, lambd: float, lr: float | Tensor, t0: float, alpha: float,
    weight_decay: float,
) -> None:
    """One step of `ASGD` on lists with a tensor a parameter; in place (see `adam`)."""
    group = {
        "lr": lr, "lambd": lambd, "alpha": alpha, "t0": t0, "weight_decay": weight_decay,
        "maximize": maximize, "differentiable": differentiable,
    }
    run_lists("asgd", group, params, grads, state_steps, [axs], (etas, mus))
