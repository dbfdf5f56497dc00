"""Adam for sparse gradients."""

from typing import Any

from .._tensor import Tensor
from ..autograd.modes import no_grad
from ..base import absent
from .batches import with_gradients, zeros
from .checks import check_betas
from .optimizer import Closure, Optimizer, ParamsT, _evaluate, _to_scalar
from .sparse_rows import adam_rows


class SparseAdam(Optimizer):
    """Adam that touches only the rows of a table that have a gradient.

    Rows without one keep their running averages, and are not moved. The step number that corrects
    the averages is that of the table.

    Args:
        params: parameters, named parameters or parameter groups: dense tensors whose gradients are
            sparse, as those of `nn.Embedding(..., sparse=True)`.
        lr: learning rate, a number or a tensor of one element, above 0.
        betas: decay rates of the two averages.
        eps: added to the denominator, above 0.
        maximize: climb instead of descend.

    State: `step` (int), `exp_avg` and `exp_avg_sq`, dense, like the parameter.

    Raises ValueError for options out of range and sparse parameters, RuntimeError in `step` for
    dense gradients.

    >>> table = torch.nn.Embedding(4, 1, sparse=True)
    >>> optimizer = torch.optim.SparseAdam(table.parameters(), lr=0.5)
    >>> before = table.weight.detach().clone()
    >>> table(torch.tensor([2])).sum().backward()
    >>> optimizer.step()
    >>> (table.weight.detach() - before).flatten()
    tensor([ 0.0000,  0.0000, -0.5000,  0.0000])
    """

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        maximize: bool = False,
    ) -> None:
        for name, value in (("learning rate", lr), ("epsilon value", eps)):
            if not 0.0 < value:
                raise ValueError(f"Invalid {name}: {value}")
        check_betas(betas)
        super().__init__(params, {"lr": lr, "betas": betas, "eps": eps, "maximize": maximize})
        sparse = [
            [index, place]
            for index, group in enumerate(self.param_groups)
            for place, param in enumerate(group["params"])
            if param.is_sparse
        ]
        if sparse:
            raise ValueError(
                f"Sparse params at indices {sparse}: SparseAdam requires dense parameter tensors"
            )

    @no_grad()
    def step(self, closure: Closure | None = None) -> Any:
        """Update the parameters once; returns the loss of `closure`, if one is given."""
        loss = _evaluate(closure)
        for group in self.param_groups:
            params, grads = with_gradients(group)
            states = [self.state[param] for param in params]
            for param, grad, state in zip(params, grads, states):
                if not grad.is_sparse:
                    raise RuntimeError(
                        "SparseAdam does not support dense gradients, please consider Adam instead"
                    )
                if not state:
                    state.update(step=0, exp_avg=zeros(param), exp_avg_sq=zeros(param))
                state["step"] += 1
            sparse_adam(
                params,
                grads,
                [state["exp_avg"] for state in states],
                [state["exp_avg_sq"] for state in states],
                [state["step"] for state in states],
                beta1=group["betas"][0],
                beta2=group["betas"][1],
                lr=_to_scalar(group["lr"]),
                eps=group["eps"],
                maximize=group["maximize"],
            )
        return loss


def sparse_adam(
    params: list[Tensor], grads: list[Tensor], exp_avgs: list[Tensor], exp_avg_sqs: list[Tensor],
    state_steps: list[int], *, eps: float, beta1: float, beta2: float, lr: float | Tensor,
    maximize: bool,
) -> None:
    """One step of `SparseAdam` on lists with a tensor a parameter; in place.

    state_steps: the numbers of the steps, this one counted.
    """
    for lists in zip(params, grads, exp_avgs, exp_avg_sqs, state_steps, strict=True):
        adam_rows(*lists, eps=eps, beta1=beta1, beta2=beta2, lr=lr, maximize=maximize)


__getattr__ = absent.names_of(__name__)
