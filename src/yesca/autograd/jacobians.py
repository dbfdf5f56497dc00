"""Jacobians for `gradcheck`: by finite differences, by the tape, by tangents; whole or in products.

A whole Jacobian has shape (elements of the input, elements of the output). Results are real
(`by_parts`); the derivative by a complex input x + iy is d/dx + i d/dy. In *fast* mode there is
one number for each output: the product with a direction of the input and one of the output.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..core.tensor_base import TensorBase
from ..dispatch.call import OPERATORS
from . import forward_ad
from .calls import gradients
from .modes import enable_grad, no_grad

Tensors = tuple[Any, ...]
Pair = tuple[Any, Any]


def as_tuple(value: Any) -> Tensors:
    """A tensor, or several, as a tuple."""
    return (value,) if isinstance(value, TensorBase) else tuple(value)


def wants(value: Any) -> bool:
    """Whether a value is a tensor that requires a gradient."""
    return isinstance(value, TensorBase) and value.requires_grad  # type: ignore[attr-defined]


def numbers_like(tensor: Any, apart: bool = False) -> Any:
    """Fixed numbers between -1 and 1: the user's generator stays as it is."""
    count = max(tensor.numel(), 1)
    flat = OPERATORS.arange(1, count + 1, dtype=tensor.dtype.to_real())
    made = OPERATORS.sin(flat * 12.9898) * 0.9
    if tensor.is_complex():
        made = OPERATORS.complex(made, OPERATORS.cos(flat * 7.233))
    made = OPERATORS.reshape(made[:tensor.numel()], tuple(tensor.shape))
    return OPERATORS.select(OPERATORS.stack([made, made], -1), -1, 0) if apart else made


def by_parts(func: Callable[..., Any]) -> Callable[..., Tensors]:
    """The function with complex results as pairs of real ones."""
    def parts(*values: Any) -> Tensors:
        return tuple([OPERATORS.view_as_real(OPERATORS.resolve_conj(o)) if o.is_complex() else o
                      for o in as_tuple(func(*values))])

    return parts


def _directions(source: Any, fast: bool) -> list[Any]:
    """Where to move the input: along each element (and its imaginary axis), or one way."""
    if fast:
        return [numbers_like(source)]
    made = []
    count = source.numel()
    for step in ((1, 1j) if source.is_complex() else (1,)):
        for j in range(count):
            one = OPERATORS.zeros((count,), dtype=source.dtype)
            one[j] = step
            made.append(OPERATORS.reshape(one, tuple(source.shape)))
    return made


def _assembled(rows: list[list[Any]], source: Any, outputs: Tensors, fast: bool) -> list[Any]:
    """Per output, from the derivatives (rows of outputs) along all directions."""
    if fast:
        return [OPERATORS.sum(OPERATORS.mul(row, numbers_like(row))) for row in rows[0]]
    count = source.numel()
    found = []
    for k, output in enumerate(outputs):
        if not count:
            found.append(OPERATORS.zeros((0, output.numel()), dtype=source.dtype))
            continue
        whole = OPERATORS.stack([OPERATORS.reshape(row[k], (-1,)) for row in rows])
        if source.is_complex():
            whole = OPERATORS.complex(whole[:count], whole[count:])
        found.append(whole)
    return found


def numerical(func: Callable[..., Any], inputs: Tensors, source: Any, places: list[int],
              eps: float, fast: bool) -> list[Any]:
    """Central differences. The input itself is moved and put back."""
    flat = source.data  # a version counter of its own: what the tape keeps stays valid
    with no_grad():
        rows = [_difference(func, inputs, flat, way, places, eps)
                for way in _directions(flat, fast)]
        outputs = as_tuple(func(*inputs))
    return _assembled(rows, flat, tuple([outputs[k] for k in places]), fast)


def _difference(func: Callable[..., Any], inputs: Tensors, source: Any, way: Any,
                places: list[int], eps: float) -> list[Any]:
    before = OPERATORS.clone(source)
    ends = []
    try:
        for sign in (1, -1):
            OPERATORS.copy_(source, OPERATORS.add(before, way, alpha=sign * eps))
            made = as_tuple(func(*inputs))
            ends.append([OPERATORS.clone(made[k]).detach() for k in places])
    finally:
        OPERATORS.copy_(source, before)
    return [(up - down) / (2 * eps) for up, down in zip(*ends, strict=True)]


def backward(outputs: list[Any], source: Any, fast: bool) -> list[Any]:
    """By the tape."""
    found = []
    for output in outputs:
        if fast:
            slope = _slope(output, source, numbers_like(output))
            found.append(_inner(slope, numbers_like(source)))
            continue
        flat = OPERATORS.reshape(output, (-1,))
        columns = []
        for j in range(output.numel()):
            one = OPERATORS.zeros_like(flat.detach())
            one[j] = 1
            columns.append(OPERATORS.reshape(_slope(flat, source, one), (-1,)))
        found.append(OPERATORS.stack(columns, 1) if columns else
                     OPERATORS.zeros((source.numel(), 0), dtype=source.dtype))
    return found


def _slope(output: Any, source: Any, given: Any) -> Any:
    made = gradients(output, source, given, retain_graph=True, allow_unused=True)[0]
    return OPERATORS.zeros_like(source.detach()) if made is None else made.detach()


def _inner(a: Any, b: Any) -> Any:
    """The product of vectors of real numbers, or of pairs of them."""
    if a.is_complex():
        a, b = [OPERATORS.view_as_real(OPERATORS.resolve_conj(x)) for x in (a, b)]
    return OPERATORS.sum(OPERATORS.mul(a, b))


def forward(func: Callable[..., Any], inputs: Tensors, source: Any, places: list[int],
            fast: bool) -> list[Any]:
    """By tangents."""
    ways = _directions(source.detach(), fast) or [OPERATORS.zeros_like(source.detach())]
    rows = [list(tangents(func, inputs, source, places, way)) for way in ways]
    return _assembled(rows, source, tuple(rows[0]), fast)


def tangents(func: Callable[..., Any], inputs: Tensors, source: Any, places: list[int], way: Any
             ) -> Tensors:
    """The tangents of some of the outputs in one direction of an input."""
    with enable_grad(), forward_ad.dual_level():
        given = [forward_ad.make_dual(x, way) if x is source else x for x in inputs]
        made = as_tuple(func(*given))
        pairs = [forward_ad.unpack_dual(made[k]) for k in places]
    return tuple([OPERATORS.zeros_like(p.primal.detach()) if p.tangent is None
                  else p.tangent.detach() for p in pairs])


__all__ = ["Pair", "as_tuple", "backward", "by_parts", "forward", "numbers_like", "numerical",
           "tangents", "wants"]
