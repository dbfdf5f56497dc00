"""Stochastic gradient descent, with momentum."""

from typing import Any

from ..base import absent
from .. import functional as ops
from .._tensor import Tensor
from .batches import batches, check_fused, run_rule
from .checks import check_implementation, check_learning_rate, check_not_negative
from .optimizer import (
    Closure,
    Optimizer,
    ParamsT,
    _evaluate,
    _use_grad_for_differentiable,
)


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
                check_fused(group, params[0])
                if group["momentum"] == 0:
                    _launch(group, params, grads, [], False)
                else:
                    self._update_with_momentum(group, params, grads)
        return loss

    def _update_with_momentum(
        self, group: dict[str, Any], params: list[Tensor], grads: list[Tensor]
    ) -> None:
        """One launch; two if some of the parameters have no buffer yet."""
        state = self.state
        buffers = [state[param].get("momentum_buffer") for param in params]
        started = [index for index, buffer in enumerate(buffers) if buffer is not None]
        if len(started) == len(params):
            _launch(group, params, grads, buffers, False)
            return
        if started:
            chosen = ([values[index] for index in started] for values in (params, grads, buffers))
            _launch(group, *chosen, False)
        fresh = [index for index, buffer in enumerate(buffers) if buffer is None]
        params = [params[index] for index in fresh]
        grads = [grads[index] for index in fresh]
        buffers = [ops.empty_like(grad) for grad in grads]
        _launch(group, params, grads, buffers, True)
        for param, buffer in zip(params, buffers):
            state[param]["momentum_buffer"] = buffer


def _launch(
    group: dict[str, Any],
    params: list[Tensor],
    grads: list[Tensor],
    buffers: list[Tensor],
    is_first_step: bool,
) -> None:
    """Update parameters of one device and dtype; all of them have a buffer, or none has."""
    run_rule("sgd", group, params, grads, [], [buffers], [], is_first_step=is_first_step)


__getattr__ = absent.names_of(__name__)
