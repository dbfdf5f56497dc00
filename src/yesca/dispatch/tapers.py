"""Windows for spectra: `hann_window`, `hamming_window`, `bartlett_window`, ...

A periodic window is the symmetric one of one more point, without the last. The steps round as
PyTorch's do, in the window's own dtype.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from ..base.errors import type_name
from ..core.devices import resolve
from ..core.dtypes import FLOATING, DType, as_dtype, float32, get_default_dtype
from .creation import finished
from .sequences import arange


def _number_of_points(name: str, length: Any) -> int:
    if isinstance(length, (bool, float)) or getattr(length, "__index__", None) is None:
        raise TypeError(f"{name}(): argument 'window_length' (position 1) must be int, not "
                        f"{type_name(length)}")
    points = int(length.__index__())
    if points < 0:
        raise RuntimeError(f"{name} requires non-negative window_length, got "
                           f"window_length={points}")
    return points


def _combination(name: str, given: tuple[Any, ...], numbers: tuple[str, ...]) -> TypeError:
    shown = ", ".join(type_name(v) for v in given)
    more = "dtype dtype = None, torch.layout layout = None, torch.device device = None, bool " \
           "pin_memory = False, bool requires_grad = False)"
    heads = ["int window_length", "bool periodic", *(f"float {n}" for n in numbers)]
    forms = "".join(f"\n * ({', '.join(heads[:k + 1])}, *, torch.{more}" for k in range(len(heads)))
    return TypeError(f"{name}() received an invalid combination of arguments - got ({shown}), but "
                     f"expected one of:{forms}\n")


def _made(name: str, shape: Callable[..., Any], length: Any, periodic: Any,
          numbers: dict[str, Any], options: tuple[Any, Any, Any, bool]) -> Any:
    """A window from the function of its points, with all checks.

    options: dtype, layout, device, and whether the window requires a gradient.
    """
    from .call import OPERATORS as ops

    if not isinstance(periodic, bool) or not all(
            isinstance(v, (int, float)) for v in numbers.values()):
        raise _combination(name, (length, periodic, *(
            v for v in numbers.values() if not isinstance(v, float))), tuple(numbers))
    dtype, layout, device, requires_grad = options
    dtype = as_dtype(dtype) or get_default_dtype()
    if getattr(layout, "name", "strided") != "strided":
        raise RuntimeError(f"{name} is not implemented for sparse types, got: {layout}")
    if dtype.category < FLOATING:
        raise RuntimeError(f"{name} expects floating point dtypes, got: {dtype}")
    points = _number_of_points(name, length)
    place = resolve(device)
    if points < 2:
        return finished(ops.ones((points,), dtype=dtype, device=place), requires_grad)
    made = shape(ops, arange(points + periodic, dtype=dtype, device=place), points + periodic - 1,
                 *numbers.values())
    if periodic:
        made = ops.narrow(made, 0, 0, points).detach()
    return finished(made, requires_grad)


def _times(ops: Any, x: Any, number: float) -> Any:
    """x * number, the number rounded to x's dtype first."""
    return ops.mul(x, ops.full((), number, dtype=x.dtype, device=x.device))


def _cosine(ops: Any, k: Any, steps: int, alpha: float, beta: float) -> Any:
    """alpha - beta * cos, over one period."""
    return ops.add(_times(ops, ops.cos(_times(ops, k, 2 * math.pi / steps)), -beta), alpha)


def _triangle(ops: Any, k: Any, steps: int) -> Any:
    k, rising = _times(ops, k, 2 / steps), (steps >> 1) + 1
    falling = ops.sub(2, ops.narrow(k, 0, rising, steps + 1 - rising))
    return ops.cat([ops.narrow(k, 0, 0, rising), falling])


def _blackman(ops: Any, k: Any, steps: int) -> Any:
    k = _times(ops, k, math.pi / steps)
    fine = _times(ops, ops.cos(_times(ops, k, 4)), 0.08)
    return ops.add(ops.sub(fine, _times(ops, ops.cos(_times(ops, k, 2)), 0.5)), 0.42)


def _kaiser(ops: Any, k: Any, steps: int, beta: float) -> Any:
    """Halves are computed in float32 and rounded once."""
    dtype = k.dtype
    if dtype.itemsize < 4:
        k = ops.to_dtype(k, float32)
    x = ops.sub(ops.mul(k, 2 / steps), 1)
    inside = ops.clamp(ops.sub(1, ops.mul(x, x)), 0)
    top = ops.i0(ops.full((), float(beta), dtype=k.dtype, device=k.device))
    made = ops.div(ops.i0(ops.mul(ops.sqrt(inside), beta)), top)
    return made if made.dtype is dtype else ops.to_dtype(made, dtype)


def hann_window(window_length: Any, periodic: Any = True, *, dtype: DType | None = None,
                layout: Any = None, device: Any = None, pin_memory: bool = False,
                requires_grad: bool = False) -> Any:
    """A raised cosine that begins at 0: 0.5 - 0.5 * cos.

    >>> import yesca as torch
    >>> torch.hann_window(4)
    tensor([0.0000, 0.5000, 1.0000, 0.5000])
    """
    return _made("hann_window", lambda ops, k, steps: _cosine(ops, k, steps, 0.5, 0.5),
                 window_length, periodic, {}, (dtype, layout, device, requires_grad))


def hamming_window(window_length: Any, periodic: Any = True, alpha: float = 0.54,
                   beta: float = 0.46, *, dtype: DType | None = None, layout: Any = None,
                   device: Any = None, pin_memory: bool = False, requires_grad: bool = False
                   ) -> Any:
    """A raised cosine: alpha - beta * cos."""
    return _made("hamming_window", _cosine, window_length, periodic, {"alpha": alpha, "beta": beta},
                 (dtype, layout, device, requires_grad))


def bartlett_window(window_length: Any, periodic: Any = True, *, dtype: DType | None = None,
                    layout: Any = None, device: Any = None, pin_memory: bool = False,
                    requires_grad: bool = False) -> Any:
    """A triangle from 0 to 1 and back."""
    return _made("bartlett_window", _triangle, window_length, periodic, {},
                 (dtype, layout, device, requires_grad))


def blackman_window(window_length: Any, periodic: Any = True, *, dtype: DType | None = None,
                    layout: Any = None, device: Any = None, pin_memory: bool = False,
                    requires_grad: bool = False) -> Any:
    """Two cosines: 0.42 - 0.5 * cos + 0.08 * cos of twice the angle."""
    return _made("blackman_window", _blackman, window_length, periodic, {},
                 (dtype, layout, device, requires_grad))


def kaiser_window(window_length: Any, periodic: Any = True, beta: float = 12.0, *,
                  dtype: DType | None = None, layout: Any = None, device: Any = None,
                  pin_memory: bool = False, requires_grad: bool = False) -> Any:
    """i0(beta * sqrt(1 - x ** 2)) / i0(beta), x from -1 to 1: beta says how narrow it is."""
    return _made("kaiser_window", _kaiser, window_length, periodic, {"beta": beta},
                 (dtype, layout, device, requires_grad))


FUNCTIONS = {f.__name__: f for f in (
    hann_window, hamming_window, bartlett_window, blackman_window, kaiser_window)}
