"""`torch.autograd.grad`: one gradient for each result, or a batch of them in one pass."""

from __future__ import annotations

from typing import Any

from ..base.frames import warn
from .calls import collect, gradients


def grad(outputs: Any, inputs: Any, grad_outputs: Any = None, retain_graph: bool | None = None,
         create_graph: bool = False, only_inputs: bool = True, allow_unused: bool | None = None,
         is_grads_batched: bool = False, materialize_grads: bool = False) -> tuple[Any, ...]:
    """Gradients of the sum of `outputs` with respect to `inputs`, given back as a tuple.

    Nothing is accumulated.

    Args:
        outputs, inputs: tensors or graph edges, one or several.
        grad_outputs: gradients of the outputs, of their shapes; None for scalars.
        retain_graph: keep saved values for another pass (default: `create_graph`).
        create_graph: put the derivative itself on the tape, for higher derivatives.
        allow_unused: give None for inputs that no output depends on, in place of an error.
        is_grads_batched: each grad_output has one more dimension in front, and so has each result.
            One pass computes all rows, as `torch.vmap` would: what a custom backward does with a
            gradient's values in Python is refused.
        materialize_grads: zeros, instead of None, for unused inputs.

    >>> import yesca as torch
    >>> x = torch.tensor([1.0, 2.0], requires_grad=True)
    >>> torch.autograd.grad(x * x, x, torch.ones(2))
    (tensor([2., 4.]),)
    >>> torch.autograd.grad(x * x, x, torch.eye(2), is_grads_batched=True)
    (tensor([[2., 0.],
            [0., 4.]]),)
    """
    if not only_inputs:
        warn("only_inputs argument is deprecated and is ignored now (defaults to True). "
             "To accumulate gradient for other parts of the graph, please use "
             "torch.autograd.backward.", FutureWarning)
    return gradients(outputs, inputs, grad_outputs, retain_graph, create_graph, allow_unused,
                     materialize_grads, _batch if is_grads_batched else None)


def _batch(roots: list[Any], grads: list[Any], inputs: list[Any], retain: bool, create: bool
           ) -> list[Any]:
    """One pass for all rows of the batched gradients."""
    from ..func._vmap import vmap

    reached: list[bool] = []

    def vjp(*rows: Any) -> Any:  # vmap's errors give this name
        found = collect(roots, list(rows), inputs, retain, create)
        reached[:] = [g is not None for g in found]
        return tuple([g for g in found if g is not None])

    made = iter(vmap(vjp)(*grads))
    return [next(made) if one else None for one in reached]


__all__ = ["grad"]
