"""RMSprop."""

from typing import Any

from .._tensor import Tensor
from .batches import run_lists, update_all, zeros
from .checks import check_learning_rate, check_not_negative
from .optimizer import Closure, Optimizer, ParamsT, _scalar_state, _use_grad_for_differentiable


class RMSprop(Optimizer):
    """Steps divided by the root of the running average of the squared gradient.

    Args:
        params: parameters, named parameters or parameter groups.
        lr: learning rate.
        alpha: decay rate of the average.
        eps: added to the denominator, outside the root.
        weight_decay: adds `weight_decay * param` to the gradient.
        momentum: of the scaled gradients.
        centered: divide by the standard deviation, an estimate without the mean.
        maximize, differentiable, foreach, capturable: as for `Adam`.

    State: `step` (0-dim), `square_avg`; `momentum_buffer` and `grad_avg` where used.
    """

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 1e-2,
        alpha: float = 0.99,
        eps: float = 1e-8,
        weight_decay: float = 0,
        momentum: float = 0,
        centered: bool = False,
        capturable: bool = False,
        foreach: bool | None = None,
        maximize: bool = False,
        differentiable: bool = False,
    ) -> None:
        check_learning_rate(lr)
        check_not_negative("epsilon value", eps)
        check_not_negative("momentum value", momentum)
        check_not_negative("weight_decay value", weight_decay)
        check_not_negative("alpha value", alpha)
        defaults = {
            "lr": lr,
            "momentum": momentum,
            "alpha": alpha,
            "eps": eps,
            "centered": centered,
            "weight_decay": weight_decay,
            "capturable": capturable,
            "foreach": foreach,
            "maximize": maximize,
            "differentiable": differentiable,
        }
        super().__init__(params, defaults)

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        self._restore(
            momentum=0,
            centered=False,
            foreach=None,
            maximize=False,
            differentiable=False,
            capturable=False,
        )

    @_use_grad_for_differentiable
    def step(self, closure: Closure | None = None) -> Any:
        """Update the parameters once; returns the loss of `closure`, if one is given."""
        return update_all(self, closure, "rmsprop", _new_state, _names)


def _new_state(group, param):
    state = {"step": _scalar_state(0), "square_avg": zeros(param)}
    if group["momentum"] > 0:
        state["momentum_buffer"] = zeros(param)
    if group["centered"]:
        state["grad_avg"] = zeros(param)
    return state


def _names(group):
    return (
        "square_avg",
        group["momentum"] > 0 and "momentum_buffer",
        group["centered"] and "grad_avg",
    )


def rmsprop(
    params: list[Tensor], grads: list[Tensor], square_avgs: list[Tensor], grad_avgs: list[Tensor],
    momentum_buffer_list: list[Tensor], state_steps: list[Tensor], foreach: bool | None = None,
    maximize: bool = False, differentiable: bool = False, capturable: bool = False,
    has_complex: bool = False, *, lr: float | Tensor, alpha: float, eps: float,
    weight_decay: float, momentum: float, centered: bool,
) -> None:
    """One step of `RMSprop` on lists with a tensor a parameter; in place (see `adam`)."""
    group = {
        "lr": lr, "alpha": alpha, "eps": eps, "weight_decay": weight_decay, "momentum": momentum,
        "maximize": maximize, "differentiable": differentiable,
    }
    buffers = momentum_buffer_list if momentum > 0 else None
    states = [square_avgs, buffers, grad_avgs if centered else None]
    run_lists("rmsprop", group, params, grads, state_steps, states)
