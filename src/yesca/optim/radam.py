"""RAdam: Adam with a rectified adaptive rate."""

from typing import Any

from .._tensor import Tensor
from .batches import run_lists, update_all, zeros
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
        names = ("exp_avg", "exp_avg_sq")
        return update_all(self, closure, "radam", _new_state, lambda group: names)


def _new_state(group, param):
    return {"step": _scalar_state(0), "exp_avg": zeros(param), "exp_avg_sq": zeros(param)}


def radam(
    params: list[Tensor], grads: list[Tensor], exp_avgs: list[Tensor], exp_avg_sqs: list[Tensor],
    state_steps: list[Tensor], decoupled_weight_decay: bool = False, foreach: bool | None = None,
    differentiable: bool = False, capturable: bool = False, has_complex: bool = False,
    maximize: bool = False, *, beta1: float | Tensor, beta2: float | Tensor, lr: float | Tensor,
    weight_decay: float, eps: float,
) -> None:
    """One step of `RAdam` on lists with a tensor a parameter; in place (see `adam`)."""
    group = {
        "lr": lr, "betas": (beta1, beta2), "eps": eps, "weight_decay": weight_decay,
        "decoupled_weight_decay": decoupled_weight_decay, "maximize": maximize,
        "differentiable": differentiable,
    }
    run_lists("radam", group, params, grads, state_steps, [exp_avgs, exp_avg_sqs])
