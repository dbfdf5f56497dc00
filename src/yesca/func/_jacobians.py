"""`jacrev`, `jacfwd`, `hessian`: whole Jacobians, all rows or columns as one batch."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from ..dispatch.call import OPERATORS as ops
from ..utils._pytree import tree_flatten, tree_map, tree_unflatten
from ._batched import debug_unwrap
from ._derivatives import _replaced, _split, _tensors_only, jvp, vjp
from ._vmap import vmap


def jacrev(func: Callable[..., Any], argnums: Any = 0, *, has_aux: bool = False,
           chunk_size: int | None = None, _preallocate_and_copy: bool = False
           ) -> Callable[..., Any]:
    """A function that gives the Jacobian of `func`: one pass backward for all output elements.

    The Jacobian has shape `output.shape + input.shape`, in the outputs' structure and, inside
    it, the inputs'. `chunk_size`: at most so many elements in one pass.

    >>> import yesca as torch
    >>> torch.func.jacrev(lambda x: x * x)(torch.tensor([1.0, 2.0]))
    tensor([[2., 0.],
            [0., 4.]])
    """
    _check_chunk("jacrev", chunk_size)

    @functools.wraps(func, updated=())
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        leaves, structure, chosen_only = _of_leaves(func, argnums, args, kwargs)
        made = vjp(chosen_only, *leaves, has_aux=has_aux)
        output, back = made[0], made[1]
        outputs, shape = _tensors_only(
            output, "jacrev: Expected all outputs of the function to be tensors")
        blocks = linear_rows(lambda *given: back(tree_unflatten(list(given), shape)), outputs,
                             leaves, "error", chunk_size)
        rows = [tree_unflatten([ops.reshape(part, (*one.shape, *x.shape))
                                for part, x in zip(parts, leaves, strict=True)], structure)
                for one, parts in zip(outputs, columns_of(blocks, outputs), strict=True)]
        jacobian = tree_unflatten(rows, shape)
        return (jacobian, made[2]) if has_aux else jacobian

    return wrapped


def _of_leaves(func: Callable[..., Any], argnums: Any, args: tuple[Any, ...],
               kwargs: dict[str, Any]) -> tuple[list[Any], Any, Callable[..., Any]]:
    """The tensors to differentiate by, their structure, and the function of them alone."""
    chosen, places = _split(argnums, args)
    many = isinstance(argnums, (tuple, list))
    leaves, structure = tree_flatten(chosen)

    def chosen_only(*primals: Any) -> Any:
        tree = tree_unflatten(list(primals), structure)
        return func(*_replaced(args, places, tree, many), **kwargs)

    return leaves, structure, chosen_only


def linear_rows(function: Callable[..., Any], spaces: list[Any], results: list[Any],
                randomness: str, chunk_size: int | None) -> list[Any]:
    """A linear function on the unit vectors of all spaces, one after the other, as batches.

    Gives each result with a row for every unit vector.
    """
    counts = [s.numel() for s in spaces]
    total = sum(counts)
    if not total:
        return [ops.zeros((0, *r.shape), dtype=r.dtype, device=r.device) for r in results]
    basis = []
    for k, space in enumerate(spaces):
        whole = ops.zeros((total, counts[k]), dtype=space.dtype, device=space.device)
        start = sum(counts[:k])
        ops.fill_(ops.diagonal(ops.narrow(whole, 0, start, counts[k])), 1)
        basis.append(ops.reshape(whole, (total, *space.shape)))
    made = vmap(function, randomness=randomness, chunk_size=chunk_size)(*basis)
    return list(made)


def columns_of(blocks: list[Any], spaces: list[Any]) -> list[list[Any]]:
    """Per space: the rows of its unit vectors, of each result."""
    found, start = [], 0
    for space in spaces:
        found.append([ops.narrow(b, 0, start, space.numel()) for b in blocks])
        start += space.numel()
    return found


def jacfwd(func: Callable[..., Any], argnums: Any = 0, has_aux: bool = False, *,
           chunk_size: int | None = None, randomness: str = "error") -> Callable[..., Any]:
    """A function that gives the Jacobian of `func`: one product for all input elements at once.

    Shapes and structure as for `jacrev`; `chunk_size`: at most so many elements at once;
    `randomness`: as for `vmap`.
    """
    _check_chunk("jacfwd", chunk_size)

    @functools.wraps(func, updated=())
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        leaves, structure, chosen_only = _of_leaves(func, argnums, args, kwargs)
        known: dict[str, Any] = {}

        def product(*vectors: Any) -> Any:
            made = jvp(chosen_only, tuple(leaves), tuple(vectors), has_aux=has_aux)
            output, tangents = made[0], made[1]
            flat, known["shape"] = tree_flatten(output)
            known["specs"], known["aux"] = [(o.shape, o.dtype) for o in flat], made[2:]
            return tuple(tree_flatten(tangents)[0])

        if not sum(x.numel() for x in leaves):
            product(*[ops.zeros_like(x) for x in leaves])
        blocks = linear_rows(product, leaves, [], randomness, chunk_size)
        rows = []
        for k, (size, dtype) in enumerate(known["specs"]):
            columns = columns_of(blocks[k:k + 1], leaves) if blocks else [
                [ops.zeros((0, *size), dtype=dtype)] for _ in leaves]
            rows.append(tree_unflatten(
                [ops.reshape(ops.movedim(own, 0, -1), (*size, *x.shape))
                 for (own,), x in zip(columns, leaves, strict=True)], structure))
        jacobian = tree_unflatten(rows, known["shape"])
        return (jacobian, *_unbatched(known["aux"])) if has_aux else jacobian

    return wrapped


def _unbatched(aux: Any) -> Any:
    """What hangs on no direction came out of the batch as it went in."""
    return tree_map(debug_unwrap, aux)


def hessian(func: Callable[..., Any], argnums: Any = 0) -> Callable[..., Any]:
    """A function that gives the Hessian of `func`: the Jacobian of its Jacobian."""
    return jacfwd(jacrev(func, argnums), argnums)


def _check_chunk(name: str, chunk_size: int | None) -> None:
    if not (chunk_size is None or chunk_size > 0):
        raise ValueError(f"{name}: `chunk_size` should be greater than 0.")


__all__ = ["columns_of", "hessian", "jacfwd", "jacrev", "linear_rows"]
