"""Adagrad."""

from typing import Any

from .. import functional as ops
from .._tensor import Tensor
from .batches import run_lists, update_all
from .checks import check_implementation, check_learning_rate, check_not_negative
from .optimizer import Closure, Optimizer, ParamsT, _scalar_state, _use_grad_for_differentiable
from .sparse_rows import adagrad_rows


class Adagrad(Optimizer):
    """Steps divided by the root of the sum of all squared gradients.

    Args:
        params: parameters, named parameters or parameter groups.
        lr: learning rate; step `t` (from 0) uses `lr / (1 + t * lr_decay)`.
        weight_decay: adds `weight_decay * param` to the gradient.
        initial_accumulator_value: what the sums start with.
        eps: added to the denominator.
        maximize, differentiable, foreach, fused: as for `Adam`.

    State, made by the constructor: `step` (0-dim), `sum`.
    """

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 1e-2,
        lr_decay: float = 0,
        weight_decay: float = 0,
        initial_accumulator_value: float = 0,
        eps: float = 1e-10,
        foreach: bool | None = None,
        *,
        maximize: bool = False,
        differentiable: bool = False,
        fused: bool | None = None,
    ) -> None:
        check_learning_rate(lr)
        check_not_negative("lr_decay value", lr_decay)
        check_not_negative("weight_decay value", weight_decay)
        check_not_negative("initial_accumulator_value value", initial_accumulator_value)
        check_not_negative("epsilon value", eps)
        check_implementation(fused, foreach, differentiable)
        defaults = {
            "lr": lr,
            "lr_decay": lr_decay,
            "eps": eps,
            "weight_decay": weight_decay,
            "initial_accumulator_value": initial_accumulator_value,
            "foreach": foreach,
            "maximize": maximize,
            "differentiable": differentiable,
            "fused": fused,
        }
        super().__init__(params, defaults)
        for group in self.param_groups:
            for param in group["params"]:
                self.state[param].update(_new_state(group, param))

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        self._restore(foreach=None, maximize=False, differentiable=False, fused=None)

    def share_memory(self) -> None:
        """Move the sums into shared memory."""
        for group in self.param_groups:
            for param in group["params"]:
                self.state[param]["sum"].share_memory_()

    @_use_grad_for_differentiable
    def step(self, closure: Closure | None = None) -> Any:
        """Update the parameters once; returns the loss of `closure`, if one is given."""
        return update_all(self, closure, "adagrad", _new_state, lambda group: ("sum",),
                          rows=adagrad_rows)


def _new_state(group, param):
    start = group["initial_accumulator_value"]
    start = complex(start, start) if param.is_complex() else start
    total = ops.full_like(param, start)
    return {"step": _scalar_state(0), "sum": total}


def adagrad(
    params: list[Tensor], grads: list[Tensor], state_sums: list[Tensor],
    state_steps: list[Tensor], fused: bool | None = None, grad_scale: Tensor | None = None,
    found_inf: Tensor | None = None, has_sparse_grad: bool = False, foreach: bool | None = None,
    differentiable: bool = False, has_complex: bool = False, *, lr: float | Tensor,
    weight_decay: float, lr_decay: float, eps: float, maximize: bool,
) -> None:
    """One step of `Adagrad` on lists with a tensor a parameter; in place (see `adam`)."""
    group = {
        "lr": lr, "lr_decay": lr_decay, "weight_decay": weight_decay, "eps": eps,
        "maximize": maximize, "differentiable": differentiable,
    }
    run_lists("adagrad", group, params, grads, state_steps, [state_sums],
              scaling=(grad_scale, found_inf))
