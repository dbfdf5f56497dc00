"""Stochastic gradient descent, with momentum."""

from typing import Any

from .. import functional as ops
from .._tensor import Tensor
from .batches import batches, check_fused, rows, run_rule
from .checks import check_implementation, check_learning_rate, check_not_negative
from .optimizer import (
    Closure,
    Optimizer,
    ParamsT,
    _evaluate,
    _use_grad_for_differentiable,
)
from .sparse_rows import sgd_rows, take_sparse


class SGD(Optimizer):
    """Gradient descent: `param -= lr * grad`, optionally with momentum.

    With momentum, `buffer = momentum * buffer + (1 - dampening) * grad` (the first time,
    `buffer = grad`) takes the place of the gradient; with `nesterov`, `grad + momentum * buffer`.

    Args:
        params: parameters, named parameters or parameter groups.
        lr: learning rate, a number or a tensor of one element.
        momentum, dampening, nesterov: see above; `nesterov` needs momentum and no dampening.
        weight_decay: adds `weight_decay * param` to the gradient.
        maximize: climb instead of descend.
        differentiable: record the update for backward.
        foreach, fused: accepted; all parameters of a group are updated by one kernel anyway.

    State: `momentum_buffer`, like the parameter, if there is momentum.

    >>> weight = torch.tensor([1.0], requires_grad=True)
    >>> optimizer = torch.optim.SGD([weight], lr=0.5)
    >>> (weight * weight).sum().backward()
    >>> optimizer.step()
    >>> weight.item()
    0.0
    """

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 1e-3,
        momentum: float = 0,
        dampening: float = 0,
        weight_decay: float | Tensor = 0,
        nesterov: bool = False,
        *,
        maximize: bool = False,
        foreach: bool | None = None,
        differentiable: bool = False,
        fused: bool | None = None,
    ) -> None:
        check_learning_rate(lr)
        check_not_negative("momentum value", momentum)
        check_not_negative("weight_decay value", weight_decay)
        if nesterov and (momentum <= 0 or dampening != 0):
            raise ValueError(
                "Nesterov momentum requires a momentum and zero dampening; "
                f"got momentum={momentum}, dampening={dampening}"
            )
        check_implementation(fused, foreach, differentiable)
        defaults = {
            "lr": lr,
            "momentum": momentum,
            "dampening": dampening,
            "weight_decay": weight_decay,
            "nesterov": nesterov,
            "maximize": maximize,
            "foreach": foreach,
            "differentiable": differentiable,
            "fused": fused,
        }
        super().__init__(params, defaults)

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        self._restore(
            nesterov=False, maximize=False, foreach=None, differentiable=False, fused=False
        )

    @_use_grad_for_differentiable
    def step(self, closure: Closure | None = None) -> Any:
        """Update the parameters once; returns the loss of `closure`, if one is given."""
        loss = _evaluate(closure)
        for group in self.param_groups:
            for params, grads in batches(group):
                params, grads = take_sparse(self.state, group, params, grads, sgd_rows)
                if not params:
                    continue
                check_fused(group, params[0])
                if group["momentum"] == 0:
                    _update(group, params, grads, [])
                    continue
                states = [self.state[param] for param in params]
                buffers = [state.get("momentum_buffer") for state in states]
                for index in _update(group, params, grads, buffers):
                    states[index]["momentum_buffer"] = buffers[index]
        return loss


def _update(
    group: dict[str, Any],
    params: list[Tensor],
    grads: list[Tensor],
    buffers: list[Tensor | None],
) -> list[int]:
    """Update parameters of one device and dtype; the places of the buffers made for it.

    One launch; two if some of the parameters have no buffer yet.
    """
    fresh = [index for index, buffer in enumerate(buffers) if buffer is None]
    for index in fresh:
        buffers[index] = ops.empty_like(grads[index])
    if not fresh:
        run_rule("sgd", group, params, grads, [], [buffers], [], is_first_step=False)
        return fresh
    chosen = set(fresh)
    for first in (False, True):
        some = [index for index in range(len(params)) if (index in chosen) is first]
        if some:
            own, slopes, momenta = ([v[k] for k in some] for v in (params, grads, buffers))
            run_rule("sgd", group, own, slopes, [], [momenta], [], is_first_step=first)
    return fresh


def sgd(
    params: list[Tensor], d_p_list: list[Tensor], momentum_buffer_list: list[Tensor | None],
    has_sparse_grad: bool = False, foreach: bool | None = None, fused: bool | None = None,
    grad_scale: Tensor | None = None, found_inf: Tensor | None = None, *, weight_decay: float,
    momentum: float, lr: float | Tensor, dampening: float, nesterov: bool, maximize: bool,
) -> None:
    """One step of `SGD` on lists with a tensor a parameter; in place (see `adam`).

    With momentum, an entry None of `momentum_buffer_list` is replaced by the buffer made for it.
    """
    group = {
        "weight_decay": weight_decay, "momentum": momentum, "lr": lr, "dampening": dampening,
        "nesterov": nesterov, "maximize": maximize, "differentiable": False,
    }
    places = list(range(len(params)))
    buffers = momentum_buffer_list if momentum != 0 else places
    for own, grads, momenta, where in rows(
        group, params, d_p_list, (grad_scale, found_inf), buffers, places
    ):
        for index in _update(group, own, grads, momenta if momentum != 0 else []):
            momentum_buffer_list[where[index]] = momenta[index]
