"""AdamW: Adam with decoupled weight decay."""

from typing import Any

from ..base import absent
from .._tensor import Tensor
from .adam import Adam
from .optimizer import ParamsT


class AdamW(Adam):
    """Adam whose weight decay shrinks the parameter by `1 - lr * weight_decay` before each update.

    Arguments and state are those of `Adam`.

    >>> weight = torch.tensor([1.0], requires_grad=True)
    >>> optimizer = torch.optim.AdamW([weight], lr=0.25, weight_decay=0.5)
    >>> weight.sum().backward()
    >>> optimizer.step()
    >>> weight.item()
    0.625
    """

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 1e-3,
        betas: tuple[float | Tensor, float | Tensor] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 1e-2,
        amsgrad: bool = False,
        *,
        maximize: bool = False,
        foreach: bool | None = None,
        capturable: bool = False,
        differentiable: bool = False,
        fused: bool | None = None,
    ) -> None:
        super().__init__(
            params,
            lr,
            betas,
            eps,
            weight_decay,
            amsgrad,
            foreach=foreach,
            maximize=maximize,
            capturable=capturable,
            differentiable=differentiable,
            fused=fused,
            decoupled_weight_decay=True,
        )

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        for group in self.param_groups:
            # A checkpoint of Adam, or one older than this option, loads as AdamW here.
            group["decoupled_weight_decay"] = True


__getattr__ = absent.names_of(__name__)
