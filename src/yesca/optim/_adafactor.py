"""Adafactor: an adaptive method whose second moments of a matrix take a row and a column."""

from typing import Any

from .. import functional as ops
from .._tensor import Tensor
from ..core.dtypes import bfloat16, float16, float32, float64
from .batches import refuse_complex, rows, update_each, zeros
from .checks import check_single
from .optimizer import (
    Closure,
    Optimizer,
    ParamsT,
    _get_value,
    _scalar_state,
    _use_grad_for_differentiable,
)

#: The distance from 1 to the next number.
_EPSILON = {float16: 2.0**-10, bfloat16: 2.0**-7, float32: 2.0**-23, float64: 2.0**-52}


class Adafactor(Optimizer):
    """Adaptive steps with little memory: squared gradients are kept as an outer product.

    Args:
        params: parameters, named parameters or parameter groups.
        lr: upper bound of the relative step, which falls as `1 / sqrt(step)`.
        beta2_decay: power of the step that gives the weight of a new squared gradient.
        eps: `(eps1, eps2)`: least estimate (squared; None: that of the dtype), and least scale
            of a parameter.
        d: the update is shortened to this root mean square.
        weight_decay: shrinks the parameter by `1 - lr * weight_decay` before each update.
        foreach: accepted.
        maximize: climb instead of descend.

    State: `step` (0-dim); `row_var` (..., R, 1) and `col_var` (..., 1, C) for a parameter of at
    least two dimensions (..., R, C), else `variance`.
    """

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 1e-2,
        beta2_decay: float = -0.8,
        eps: tuple[float | None, float] = (None, 1e-3),
        d: float = 1.0,
        weight_decay: float = 0.0,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
    ) -> None:
        check_single("lr", lr)
        if not 0.0 <= lr:
            raise ValueError(f"Learning rate should be >= 0 but is: {lr}")
        if not 0.0 >= beta2_decay:
            raise ValueError(f"beta2_decay should be <= 0 but is: {beta2_decay}")
        if eps[0] is not None and not 0.0 <= eps[0]:
            raise ValueError(f"epsilon1 should be >= 0 but is: {eps[0]}")
        if not 0.0 <= eps[1]:
            raise ValueError(f"epsilon2 should be >= 0 but is: {eps[1]}")
        if not 1.0 <= d:
            raise ValueError(f"Clipping threshold d should be >= 1 but is: {d}")
        if not 0.0 <= weight_decay:
            raise ValueError(f"weight_decay should be >= 0 but is: {weight_decay}")
        defaults = {
            "lr": lr,
            "beta2_decay": beta2_decay,
            "eps": eps,
            "d": d,
            "weight_decay": weight_decay,
            "foreach": foreach,
            "maximize": maximize,
        }
        super().__init__(params, defaults)

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        self._restore(foreach=None)

    @_use_grad_for_differentiable
    def step(self, closure: Closure | None = None) -> Any:
        """Update the parameters once; returns the loss of `closure`, if one is given."""
        return update_each(self, closure, _new_state, _update)


def adafactor(
    params: list[Tensor], grads: list[Tensor], row_vars: list[Tensor | None],
    col_vars: list[Tensor | None], variances: list[Tensor | None], state_steps: list[Tensor],
    foreach: bool | None = None, grad_scale: Tensor | None = None,
    found_inf: Tensor | None = None, has_complex: bool = False, *, d: float, lr: float | Tensor,
    beta2_decay: float, weight_decay: float, eps1: float | None, eps2: float, maximize: bool,
) -> None:
    """One step of `Adafactor` on lists with a tensor a parameter; in place (see `adam`).

    A parameter of two dimensions or more has a `row_vars` and a `col_vars`, others a `variances`;
    what a parameter has not is None.
    """
    group = {
        "lr": lr, "beta2_decay": beta2_decay, "eps": (eps1, eps2), "d": d,
        "weight_decay": weight_decay, "maximize": maximize, "differentiable": False,
    }
    for lists in rows(group, params, grads, (grad_scale, found_inf), state_steps, row_vars,
                      col_vars, variances):
        for param, grad, *values in zip(*lists):
            refuse_complex("Adafactor", param)
            _update(group, param, grad, dict(zip(_STATE, values)))


_STATE = ("step", "row_var", "col_var", "variance")


def _new_state(grad: Tensor) -> dict[str, Tensor]:
    if grad.dim() < 2:
        return {"step": _scalar_state(0), "variance": zeros(grad)}
    *batch, rows, columns = grad.shape
    return {
        "step": _scalar_state(0),
        "row_var": grad.new_zeros([*batch, rows, 1]),
        "col_var": grad.new_zeros([*batch, 1, columns]),
    }


def _update(
    group: dict[str, Any], param: Tensor, grad: Tensor, state: dict[str, Tensor]
) -> None:
    grad = -grad if group["maximize"] else grad
    step = state["step"].add_(1).item()
    lr, (eps1, eps2) = _get_value(group["lr"]), group["eps"]
    eps1 = _EPSILON[param.dtype] if eps1 is None else eps1
    scale = max(eps2, param.norm(2).item() / param.numel() ** 0.5)
    if group["weight_decay"] != 0:
        param.mul_(1 - lr * group["weight_decay"])
    variance = _squared_gradient(grad, state, step ** group["beta2_decay"], eps1)
    update = variance.clamp_(min=eps1 * eps1).rsqrt_().mul_(grad)
    root_mean_square = update.norm(2).item() / update.numel() ** 0.5
    shortening = max(1.0, root_mean_square / group["d"])
    param.add_(update, alpha=-scale * min(lr, 1 / step**0.5) / shortening)


def _squared_gradient(
    grad: Tensor, state: dict[str, Tensor], weight: float, eps1: float
) -> Tensor:
    """Let the new gradient count with `weight`; the estimate of its square, a new tensor."""
    if grad.dim() < 2:
        return state["variance"].lerp_(grad * grad, weight).clone()
    row_var, col_var = state["row_var"], state["col_var"]
    for average, dim in ((row_var, -1), (col_var, -2)):
        mean = ops.norm(grad, dim=dim, keepdim=True).square_().div_(grad.size(dim))
        average.lerp_(mean, weight)
    return (row_var @ col_var).div_(row_var.mean(dim=-2, keepdim=True).clamp_(min=eps1))
