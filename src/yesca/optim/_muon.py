"""Muon: momentum whose matrices are made orthogonal."""

import math
from typing import Any

from .. import functional as ops
from .._tensor import Tensor
from .batches import refuse_complex, rows, update_each, zeros
from .checks import check_single
from .optimizer import (
    Closure,
    Optimizer,
    ParamsT,
    _get_value,
    _use_grad_for_differentiable,
)

_LENGTHS = ("original", "match_rms_adamw")


class Muon(Optimizer):
    """For the 2-D weights of hidden layers: the update is the nearest orthogonal matrix.

    Args:
        params: matrices; everything else (biases, embeddings) needs another optimizer.
        lr: learning rate.
        weight_decay: shrinks the parameter by `1 - lr * weight_decay` before each update.
        momentum, nesterov: of the running average of gradients.
        ns_coefficients, ns_steps: odd polynomial of the Newton-Schulz iteration, and its length.
        eps: least norm the matrix is divided by.
        adjust_lr_fn: None or `"original"`: scale by `sqrt(max(1, rows / columns))`;
            `"match_rms_adamw"`: by `0.2 * sqrt(max(rows, columns))`.

    State: `momentum_buffer`.
    """

    def __init__(
        self,
        params: ParamsT,
        lr: float = 1e-3,
        weight_decay: float = 0.1,
        momentum: float = 0.95,
        nesterov: bool = True,
        ns_coefficients: tuple[float, float, float] = (3.4445, -4.775, 2.0315),
        eps: float = 1e-7,
        ns_steps: int = 5,
        adjust_lr_fn: str | None = None,
    ) -> None:
        check_single("lr", lr)
        if not 0.0 <= lr:
            raise ValueError(f"Learning rate should be >= 0 but is: {lr}")
        if not 0.0 <= momentum:
            raise ValueError(f"momentum should be >= 0 but is: {momentum}")
        if not 0.0 <= weight_decay:
            raise ValueError(f"weight decay should be >= 0 but is: {weight_decay}")
        if adjust_lr_fn is not None and adjust_lr_fn not in _LENGTHS:
            raise ValueError(
                f"Adjust learning rate function {adjust_lr_fn} is not supported; "
                f"choose one of {_LENGTHS}"
            )
        defaults = {
            "lr": lr,
            "weight_decay": weight_decay,
            "momentum": momentum,
            "nesterov": nesterov,
            "ns_coefficients": ns_coefficients,
            "eps": eps,
            "ns_steps": ns_steps,
            "adjust_lr_fn": adjust_lr_fn,
        }
        super().__init__(params, defaults)
        for group in self.param_groups:
            for param in group["params"]:
                if param.ndim != 2:
                    raise ValueError(
                        "Muon only supports 2D parameters whereas we found a parameter with "
                        f"size: {param.size()}"
                    )

    @_use_grad_for_differentiable
    def step(self, closure: Closure | None = None) -> Any:
        """Update the parameters once; returns the loss of `closure`, if one is given."""
        return update_each(self, closure, _new_state, _update)


def muon(
    params: list[Tensor], grads: list[Tensor], muon_momentum_bufs: list[Tensor], *,
    foreach: bool | None = None, lr: float, weight_decay: float, momentum: float, nesterov: bool,
    ns_coefficients: tuple[float, float, float], ns_steps: int, eps: float,
    adjust_lr_fn: str | None, has_complex: bool,
) -> None:
    """One step of `Muon` on lists with a matrix a parameter; in place (see `adam`)."""
    if foreach:
        raise RuntimeError("Foreach is not supported for Muon yet; leave foreach out")
    group = {
        "lr": lr, "weight_decay": weight_decay, "momentum": momentum, "nesterov": nesterov,
        "ns_coefficients": ns_coefficients, "ns_steps": ns_steps, "eps": eps,
        "adjust_lr_fn": adjust_lr_fn, "differentiable": False,
    }
    for lists in rows(group, params, grads, (None, None), muon_momentum_bufs):
        for param, grad, buffer in zip(*lists):
            refuse_complex("Muon", param)
            _update(group, param, grad, {"momentum_buffer": buffer})


def _new_state(grad: Tensor) -> dict[str, Any]:
    return {"momentum_buffer": zeros(grad)}


def _update(group: dict[str, Any], param: Tensor, grad: Tensor, state: dict[str, Any]) -> None:
    lr, momentum, buffer = _get_value(group["lr"]), group["momentum"], state["momentum_buffer"]
    buffer.lerp_(grad, 1 - momentum)
    update = grad.lerp(buffer, momentum) if group["nesterov"] else buffer
    update = _orthogonal(update, group["ns_coefficients"], group["ns_steps"], group["eps"])
    rows, columns = param.shape
    if group["adjust_lr_fn"] == "match_rms_adamw":
        length = 0.2 * math.sqrt(max(rows, columns))
    else:
        length = math.sqrt(max(1, rows / columns))
    param.mul_(1 - lr * group["weight_decay"])
    param.add_(update, alpha=-lr * length)


def _orthogonal(
    matrix: Tensor, coefficients: tuple[float, float, float], steps: int, eps: float
) -> Tensor:
    """Move all singular values towards 1: `steps` of `x <- a x + (b x x' + c (x x')^2) x`.

    In bfloat16, and on the wide side, where `x x'` is small.
    """
    if steps >= 100:
        raise ValueError(
            f"Number of steps must be less than 100 for computational efficiency, not {steps}"
        )
    if len(coefficients) != 3:
        raise ValueError(f"Coefficients must be a tuple of exactly 3 values, not {coefficients}")
    a, b, c = coefficients
    tall = matrix.size(0) > matrix.size(1)
    x = matrix.bfloat16()
    x = x.T if tall else x  # (R, C), R <= C
    x = x / x.norm().clamp(min=eps)
    for _ in range(steps):
        gram = x @ x.T  # (R, R)
        gram = ops.addmm(gram, gram, gram, beta=b, alpha=c)
        x = ops.addmm(x, gram, x, beta=a)
    return x.T if tall else x
