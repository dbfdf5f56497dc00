"""`jacrev`, `jacfwd`, `hessian`: whole Jacobians, a row or a column at a time."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from ..dispatch.call import OPERATORS as ops
from ..utils._pytree import tree_flatten, tree_unflatten
from ._derivatives import _replaced, _split, _tensors_only, _with_aux, jvp, vjp


def jacrev(func: Callable[..., Any], argnums: Any = 0, *, has_aux: bool = False,
           chunk_size: int | None = None, _preallocate_and_copy: bool = False
           ) -> Callable[..., Any]:
    """A function that gives the Jacobian of `func`, by one pass backward for each output element.

    The Jacobian has shape `output.shape + input.shape`, in the outputs' structure and, inside
    it, the inputs'.

    >>> import yesca as torch
    >>> torch.func.jacrev(lambda x: x * x)(torch.tensor([1.0, 2.0]))
    tensor([[2., 0.],
            [0., 4.]])
    """
    _check_chunk("jacrev", chunk_size)

    @functools.wraps(func, updated=())
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        chosen, places = _split(argnums, args)
        many = isinstance(argnums, (tuple, list))
        leaves, structure = tree_flatten(chosen)

        def chosen_only(*primals: Any) -> Any:
            tree = tree_unflatten(list(primals), structure)
            return func(*_replaced(args, places, tree, many), **kwargs)

        made = vjp(chosen_only, *leaves, has_aux=has_aux)
        output, back = made[0], made[1]
        outputs, shape = _tensors_only(
            output, "jacrev: Expected all outputs of the function to be tensors")
        rows = []
        for k, one in enumerate(outputs):
            parts = _rows(outputs, k, leaves, lambda given: back(tree_unflatten(given, shape)))
            rows.append(tree_unflatten(
                [ops.reshape(p, (*one.shape, *x.shape))
                 for p, x in zip(parts, leaves, strict=True)], structure))
        jacobian = tree_unflatten(rows, shape)
        return (jacobian, made[2]) if has_aux else jacobian

    return wrapped


def _rows(outputs: list[Any], k: int, inputs: list[Any], back: Callable[[list[Any]], Any]
          ) -> list[Any]:
    """Per input: a row for each element of output `k`."""
    one = outputs[k]
    count = one.numel()
    columns: list[list[Any]] = [[] for _ in inputs]
    for j in range(count):
        given = [ops.zeros_like(o) for o in outputs]
        given[k] = ops.reshape(_unit(count, j, one), tuple(one.shape))
        for column, slope in zip(columns, back(given), strict=True):
            column.append(slope)
    return [ops.stack(c) if c else ops.zeros((0, *x.shape), dtype=x.dtype, device=x.device)
            for c, x in zip(columns, inputs, strict=True)]


def _unit(count: int, j: int, like: Any) -> Any:
    """A vector of zeros with a one at `j`."""
    made = ops.zeros(count, dtype=like.dtype, device=like.device)
    made[j] = 1
    return made


def jacfwd(func: Callable[..., Any], argnums: Any = 0, has_aux: bool = False, *,
           chunk_size: int | None = None, randomness: str = "error") -> Callable[..., Any]:
    """A function that gives the Jacobian of `func`, one product for each input element.

    Shapes and structure as for `jacrev`.
    """
    _check_chunk("jacfwd", chunk_size)

    @functools.wraps(func, updated=())
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        chosen, places = _split(argnums, args)
        many = isinstance(argnums, (tuple, list))
        leaves, structure = tree_flatten(chosen)
        found: dict[str, Any] = {}

        def chosen_only(*primals: Any) -> Any:
            tree = tree_unflatten(list(primals), structure)
            made = func(*_replaced(args, places, tree, many), **kwargs)
            output, found["aux"] = _with_aux(made, has_aux, "jacfwd")
            return output

        columns = [_columns(chosen_only, leaves, k) for k in range(len(leaves))]
        first, shape = tree_flatten(columns[0][0])
        rows = []
        for position, one in enumerate(first):
            parts = [_column_block([tree_flatten(v)[0][position] for v in values], one, x)
                     for (_, values), x in zip(columns, leaves, strict=True)]
            rows.append(tree_unflatten(parts, structure))
        jacobian = tree_unflatten(rows, shape)
        return (jacobian, found["aux"]) if has_aux else jacobian

    return wrapped


def _columns(func: Callable[..., Any], leaves: list[Any], k: int) -> tuple[Any, list[Any]]:
    """(outputs, per element of input `k` the product with its unit vector)."""
    x = leaves[k]
    values = []
    output = None
    for j in range(x.numel()):
        vectors = [ops.zeros_like(leaf) for leaf in leaves]
        vectors[k] = ops.reshape(_unit(x.numel(), j, x), tuple(x.shape))
        output, tangent = jvp(func, tuple(leaves), tuple(vectors))
        values.append(tangent)
    return (func(*leaves) if output is None else output), values


def _column_block(values: list[Any], output: Any, x: Any) -> Any:
    if not values:
        return ops.zeros((*output.shape, *x.shape), dtype=output.dtype, device=output.device)
    return ops.reshape(ops.stack(values, -1), (*output.shape, *x.shape))


def hessian(func: Callable[..., Any], argnums: Any = 0) -> Callable[..., Any]:
    """A function that gives the Hessian of `func`: the Jacobian of its Jacobian."""
    return jacrev(jacrev(func, argnums), argnums)


def _check_chunk(name: str, chunk_size: int | None) -> None:
    if not (chunk_size is None or chunk_size > 0):
        raise ValueError(f"{name}: `chunk_size` should be greater than 0.")


__all__ = ["hessian", "jacfwd", "jacrev"]
