"""`functionalize`: a function whose writes reach its inputs at the end, all at once."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from .._tensor import Tensor
from ..dispatch.call import OPERATORS
from ..dispatch.state import pop_transform, push_transform
from ..utils._pytree import tree_flatten, tree_unflatten


class _Functionalizing:
    """Among the active transforms: one that takes no derivative."""

    birth = 0


class _Input:
    """A tensor that was passed in, and the copy that the function works on instead."""

    def __init__(self, given: Any) -> None:
        self.given, self.copy = given, OPERATORS.clone(given)
        self.version = self._now()

    def _now(self) -> int | None:
        counter = self.copy._counter
        return None if counter is None else counter.value

    def written(self) -> bool:
        """Whether the function has written to it; tensors of inference mode cannot tell."""
        return self.version is None or self._now() != self.version

    def update(self) -> None:
        """Let the input have what the function wrote."""
        if not self.written():
            return
        if self.given.shape != self.copy.shape:
            self.given.resize_(self.copy.shape)
        self.given.copy_(self.copy)


def functionalize(func: Callable[..., Any], *, remove: str = "mutations") -> Callable[..., Any]:
    """`func` with the same results, whose writes to its arguments happen at the end, at once.

    While it runs, each tensor among the arguments (also in containers, and also one that is passed
    twice) is a tensor of its own that shares no memory with others. Arguments that were written
    are then updated by one `copy_` each; one that requires a gradient and is a leaf refuses it.

    Args:
        func: takes and gives tensors, in nested containers if need be.
        remove: "mutations"; or "mutations_and_views", where no result is a view either.

    Errors: RuntimeError for any other `remove`.

    >>> import yesca as torch
    >>> x = torch.ones(2)
    >>> torch.func.functionalize(lambda x: x.add_(1) * 2)(x), x
    (tensor([4., 4.]), tensor([2., 2.]))
    """
    if remove not in ("mutations", "mutations_and_views"):
        raise RuntimeError(
            f"functionalize(f, remove='mutations'): received invalid argument for remove={remove}. "
            "Valid options are:\n     remove='mutations': all inplace and out= operators will be "
            "removed from the program, and replaced with their out-of-place equivalents.\n"
            "     remove='mutations_and_views': In addition to the above, all aliasing operators "
            "{view} will be replaced with their non-aliasing counterparts, {view}_copy.\n")

    @functools.wraps(func, updated=())
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        leaves, structure = tree_flatten((args, kwargs))
        inputs = [_Input(leaf) if isinstance(leaf, Tensor) else None for leaf in leaves]
        own_args, own_kwargs = tree_unflatten(
            [leaf if one is None else one.copy for leaf, one in zip(leaves, inputs, strict=True)],
            structure)
        push_transform(_Functionalizing)
        try:
            made, shape = tree_flatten(func(*own_args, **own_kwargs))
        finally:
            pop_transform()
        kept = [one for one in inputs if one is not None]
        for one in kept:
            one.update()
        unwritten = {id(one.copy): one.given for one in kept if not one.written()}
        results = [unwritten.get(id(result), result) for result in made]
        if remove == "mutations_and_views":
            results = [OPERATORS.clone(result) if isinstance(result, Tensor) and result._is_view()
                       else result for result in results]
        return tree_unflatten(results, shape)

    return wrapped


__all__ = ["functionalize"]
