"""Branches and loops as functions: `cond`, `while_loop`. Python runs what is called for."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ._tensor import Tensor
from .base.naming import public_module
from .utils._pytree import tree_all


def cond(pred: Any, true_fn: Callable[..., Any], false_fn: Callable[..., Any],
         operands: Any = ()) -> Any:
    """`true_fn(*operands)` if `pred` holds, else `false_fn(*operands)`.

    Args:
        pred: a number, or a tensor of one element.
        operands: tensors, or containers of tensors.

    Raises RuntimeError for other operands, and for what cannot be called.

    >>> import yesca as torch
    >>> torch.cond(torch.tensor(True), lambda x: x + 1, lambda x: x - 1, (torch.ones(2),))
    tensor([2., 2.])
    """
    if not isinstance(pred, (bool, int, float)):
        _check_branches(pred, true_fn, false_fn, operands)
    return true_fn(*operands) if pred else false_fn(*operands)


def _check_branches(pred: Any, true_fn: Any, false_fn: Any, operands: Any) -> None:
    if not isinstance(pred, Tensor):
        raise RuntimeError(f"Expected pred to be bool or tensor, but got {pred}.")
    if pred.numel() != 1:
        raise RuntimeError(f"Expected pred to be bool or single-element tensor, but got {pred}.")
    if not callable(true_fn) or not callable(false_fn):
        raise RuntimeError("Expect both branches to be callable.")
    if not isinstance(operands, (tuple, list)) or not tree_all(_is_tensor, operands):
        raise RuntimeError("Expect operands to be a tuple of possibly nested dict/list/tuple that "
                           f"only consists of tensor leaves, but got {operands}.")


def _is_tensor(value: Any) -> bool:
    return isinstance(value, Tensor)


def while_loop(cond_fn: Callable[..., Any], body_fn: Callable[..., Any], carried_inputs: Any
               ) -> Any:
    """What `carried_inputs` become by `body_fn(*them)`, again and again while `cond_fn(*them)`.

    Raises RuntimeError where `cond_fn` gives no truth value, or the body another number of values.

    >>> import yesca as torch
    >>> torch.while_loop(lambda n, x: n < 3, lambda n, x: (n + 1, 2 * x),
    ...                  (torch.tensor(0), torch.ones(1)))
    (tensor(3), tensor([8.]))
    """
    if not callable(cond_fn) or not callable(body_fn):
        raise RuntimeError("Expect cond_fn and body_fn to be callable.")
    if not tree_all(lambda t: isinstance(t, (Tensor, int)), carried_inputs):
        raise RuntimeError("Expect carried_inputs to be a tuple of possibly nested dict/list/tuple "
                           "that onlyconsists of tensor or int leaves, but got "
                           f"{carried_inputs}.")
    carried = tuple(carried_inputs)
    while _holds(cond_fn(*carried)):
        made = body_fn(*carried)
        made = tuple(made) if isinstance(made, (tuple, list)) else (made,)
        if len(made) != len(carried):
            raise RuntimeError("body_fn should return the same number of elements as "
                               f"carried_inputs, but got {len(made)} and {len(carried)}")
        carried = made
    return carried


def _holds(value: Any) -> bool:
    if isinstance(value, Tensor) and value.numel() != 1:
        raise RuntimeError("cond_fn must return a boolean scalar tensor or a boolean but got a "
                           f"tensor of shape {tuple(value.shape)}")
    return bool(value)


cond.__module__ = while_loop.__module__ = public_module("torch")
