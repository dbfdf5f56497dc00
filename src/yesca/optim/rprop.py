"""Resilient backpropagation."""

from typing import Any

from .. import functional as ops
from .._tensor import Tensor
from .batches import run_lists, update_all, zeros
from .checks import check_learning_rate
from .optimizer import (
    Closure,
    Optimizer,
    ParamsT,
    _get_value,
    _scalar_state,
    _use_grad_for_differentiable,
)


class Rprop(Optimizer):
    """Steps from the signs of the gradient alone; for full batches.

    Each element has a step size of its own: it grows while the sign of the gradient stays, and
    shrinks (and the element waits one step) when the sign flips.

    Args:
        params: parameters, named parameters or parameter groups.
        lr: the first step size.
        etas: factors of the step size on a flip and on no flip.
        step_sizes: the least and the greatest step size.
        maximize, differentiable, foreach, capturable: as for `Adam`.

    State: `step` (0-dim), `prev` (the last gradient), `step_size`.
    """

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 1e-2,
        etas: tuple[float, float] = (0.5, 1.2),
        step_sizes: tuple[float, float] = (1e-6, 50),
        *,
        capturable: bool = False,
        foreach: bool | None = None,
        maximize: bool = False,
        differentiable: bool = False,
    ) -> None:
        check_learning_rate(lr)
        if not 0.0 < etas[0] < 1.0 < etas[1]:
            raise ValueError(
                f"Invalid eta values: {etas[0]}, {etas[1]}; the first must be in (0, 1), "
                "the second above 1"
            )
        defaults = {
            "lr": lr,
            "etas": etas,
            "step_sizes": step_sizes,
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
        names = ("prev", "step_size")
        return update_all(self, closure, "rprop", _new_state, lambda group: names)


def _new_state(group, param):
    size = _get_value(group["lr"])
    size = complex(size, size) if param.is_complex() else size
    return {
        "step": _scalar_state(0),
        "prev": zeros(param),
        "step_size": ops.full_like(param, size),
    }


def rprop(
    params: list[Tensor], grads: list[Tensor], prevs: list[Tensor], step_sizes: list[Tensor],
    state_steps: list[Tensor], foreach: bool | None = None, capturable: bool = False,
    maximize: bool = False, differentiable: bool = False, has_complex: bool = False, *,
    step_size_min: float, step_size_max: float, etaminus: float, etaplus: float,
) -> None:
    """One step of `Rprop` on lists with a tensor a parameter; in place (see `adam`)."""
    group = {
        "etas": (etaminus, etaplus), "step_sizes": (step_size_min, step_size_max),
        "maximize": maximize, "differentiable": differentiable,
    }
    run_lists("rprop", group, params, grads, state_steps, [prevs, step_sizes])
