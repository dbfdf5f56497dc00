"""NAdam: Adam with Nesterov momentum."""

from typing import Any

from ..base import absent
from .. import functional as ops
from .._tensor import Tensor
from .batches import decayed, to_save, update_each, zeros
from .checks import check_betas, check_learning_rate, check_not_negative
from .optimizer import Closure, Optimizer, ParamsT, _scalar_state, _use_grad_for_differentiable


class NAdam(Optimizer):
    """Adam whose first average looks one step ahead, with a momentum that grows over time.

    Args:
        params: parameters, named parameters or parameter groups.
        lr: learning rate.
        betas: decay rates of the two averages.
        eps: added to the denominator.
        weight_decay: adds `weight_decay * param` to the gradient; with `decoupled_weight_decay`,
            shrinks the parameter by `1 - lr * weight_decay` instead.
        momentum_decay: how fast the momentum approaches `betas[0]`.
        maximize, differentiable, foreach, capturable: as for `Adam`.

    State: `step` and `mu_product` (0-dim), `exp_avg`, `exp_avg_sq`.
    """

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 2e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        momentum_decay: float = 4e-3,
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
        check_not_negative("momentum_decay value", momentum_decay)
        defaults = {
            "lr": lr,
            "betas": betas,
            "eps": eps,
            "weight_decay": weight_decay,
            "momentum_decay": momentum_decay,
            "decoupled_weight_decay": decoupled_weight_decay,
            "maximize": maximize,
            "foreach": foreach,
            "capturable": capturable,
            "differentiable": differentiable,
        }
        super().__init__(params, defaults)

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        self._restore(
            ("step", "mu_product"),
            maximize=False,
            foreach=None,
            capturable=False,
            differentiable=False,
            decoupled_weight_decay=False,
        )

    @_use_grad_for_differentiable
    def step(self, closure: Closure | None = None) -> Any:
        """Update the parameters once; returns the loss of `closure`, if one is given."""
        return update_each(self, closure, _new_state, _update)


def _new_state(group, param):
    return {
        "step": _scalar_state(0),
        "mu_product": _scalar_state(1),
        "exp_avg": zeros(param),
        "exp_avg_sq": zeros(param),
    }


def _update(options, param, grad, state):
    beta1, beta2 = options.betas
    lr, step = options.lr, state["step"].item()
    if not options.decoupled_weight_decay:
        grad = decayed(options, param, grad)
    elif options.weight_decay != 0:
        param.mul_(1 - lr * options.weight_decay)
    mu, mu_next = (
        beta1 * (1.0 - 0.5 * 0.96 ** (time * options.momentum_decay)) for time in (step, step + 1)
    )
    mu_product = state["mu_product"].mul_(mu).item()
    exp_avg = to_save(options, state["exp_avg"].lerp_(grad, 1 - beta1))
    exp_avg_sq = state["exp_avg_sq"].mul_(beta2).addcmul_(grad, grad, value=1 - beta2)
    denominator = ops.sqrt(exp_avg_sq / (1 - beta2**step)).add(options.eps)
    param.addcdiv_(grad, denominator, value=-lr * (1.0 - mu) / (1.0 - mu_product))
    param.addcdiv_(exp_avg, denominator, value=-lr * mu_next / (1.0 - mu_product * mu_next))


__getattr__ = absent.names_of(__name__)
