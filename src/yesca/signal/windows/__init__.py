"""`torch.signal.windows`: windows of M points, symmetric unless `sym=False` makes them periodic.

A periodic window is the symmetric one of M + 1 points, without the last.

>>> import yesca as torch
>>> torch.signal.windows.hann(5)
tensor([0.0000, 0.5000, 1.0000, 0.5000, 0.0000])
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

from ...core.dtypes import float32, float64, get_default_dtype
from ...core.layouts import strided

__all__ = ["bartlett", "blackman", "cosine", "exponential", "gaussian", "general_cosine",
           "general_hamming", "hamming", "hann", "kaiser", "nuttall"]


class _Points:
    """What all windows share: the checks, and evenly spaced points in the window's dtype."""

    def __init__(self, name: str, count: int, sym: bool, dtype: Any, layout: Any, device: Any,
                 requires_grad: bool) -> None:
        from ... import functional

        self.ops: Any = functional
        self.dtype = get_default_dtype() if dtype is None else dtype
        if count < 0:
            raise ValueError(f"{name} requires non-negative window length, got M={count}")
        if layout is not strided:
            raise ValueError(f"{name} is implemented for strided tensors only, got: {layout}")
        if self.dtype not in (float32, float64):
            raise ValueError(f"{name} expects float32 or float64 dtypes, got: {self.dtype}")
        self.count, self.device, self.requires_grad = count, device, requires_grad
        #: The number of points of the symmetric window that this one is a part of.
        self.whole = count if sym or count < 2 else count + 1

    def constant(self) -> Any:
        """The window of no points, or of one."""
        return self.ops.ones((self.count,), dtype=self.dtype, device=self.device,
                             requires_grad=self.requires_grad)

    def grid(self, start: float, step: float) -> Any:
        """start, start + step, ..."""
        return self.ops.linspace(start, start + (self.count - 1) * step, self.count,
                                 dtype=self.dtype, device=self.device,
                                 requires_grad=self.requires_grad)


def exponential(M: int, *, center: float | None = None, tau: float = 1.0, sym: bool = True,
                dtype: Any = None, layout: Any = strided, device: Any = None,
                requires_grad: bool = False) -> Any:
    """exp(-|n - center| / tau)."""
    points = _Points("exponential", M, sym, dtype, layout, device, requires_grad)
    if tau <= 0:
        raise ValueError(f"Tau must be positive, got: {tau} instead.")
    if sym and center is not None:
        raise ValueError("Center must be None for symmetric windows")
    if M == 0:
        return points.constant()
    middle = (points.whole - 1) / 2 if center is None else center
    return points.ops.exp(-abs(points.grid(-middle / tau, 1 / tau)))


def cosine(M: int, *, sym: bool = True, dtype: Any = None, layout: Any = strided,
           device: Any = None, requires_grad: bool = False) -> Any:
    """Half a period of the sine."""
    points = _Points("cosine", M, sym, dtype, layout, device, requires_grad)
    if M == 0:
        return points.constant()
    step = math.pi / points.whole
    return points.ops.sin(points.grid(step / 2, step))


def gaussian(M: int, *, std: float = 1.0, sym: bool = True, dtype: Any = None,
             layout: Any = strided, device: Any = None, requires_grad: bool = False) -> Any:
    """exp(-(n / std) ** 2 / 2), n counted from the middle."""
    points = _Points("gaussian", M, sym, dtype, layout, device, requires_grad)
    if std <= 0:
        raise ValueError(f"Standard deviation must be positive, got: {std} instead.")
    if M == 0:
        return points.constant()
    scale = 1 / (std * math.sqrt(2))
    return points.ops.exp(-points.grid(-(points.whole - 1) / 2 * scale, scale) ** 2)


def kaiser(M: int, *, beta: float = 12.0, sym: bool = True, dtype: Any = None,
           layout: Any = strided, device: Any = None, requires_grad: bool = False) -> Any:
    """i0(sqrt(beta ** 2 - k ** 2)) / i0(beta), k from -beta to beta."""
    points = _Points("kaiser", M, sym, dtype, layout, device, requires_grad)
    if beta < 0:
        raise ValueError(f"beta must be non-negative, got: {beta} instead.")
    if M < 2:
        return points.constant()
    ops, step = points.ops, 2 * beta / (points.whole - 1)
    top = ops.tensor(beta, dtype=points.dtype, device=points.device)
    # Rounding must not take the last point beyond beta, where the root has no value.
    end = min(beta, -beta + (M - 1) * step)
    k = ops.linspace(-beta, end, M, dtype=points.dtype, device=points.device,
                     requires_grad=requires_grad)
    return ops.i0(ops.sqrt(beta * beta - ops.pow(k, 2))) / ops.i0(top)


def bartlett(M: int, *, sym: bool = True, dtype: Any = None, layout: Any = strided,
             device: Any = None, requires_grad: bool = False) -> Any:
    """A triangle from 0 to 1 and back."""
    points = _Points("bartlett", M, sym, dtype, layout, device, requires_grad)
    if M < 2:
        return points.constant()
    return 1 - abs(points.grid(-1.0, 2 / (points.whole - 1)))


def general_cosine(M: int, *, a: Iterable[float], sym: bool = True, dtype: Any = None,
                   layout: Any = strided, device: Any = None, requires_grad: bool = False) -> Any:
    """a[0] - a[1] * cos(x) + a[2] * cos(2 * x) - ..., x over one period."""
    points = _Points("general_cosine", M, sym, dtype, layout, device, requires_grad)
    return _cosines(points, a)


def _cosines(points: _Points, a: Iterable[float]) -> Any:
    if points.count < 2:
        return points.constant()
    if not isinstance(a, Iterable):
        raise TypeError("Coefficients must be a list/tuple")
    if not a:
        raise ValueError("Coefficients cannot be empty")
    ops = points.ops
    k = points.grid(0.0, 2 * math.pi / (points.whole - 1))
    factors = ops.tensor([-w if i % 2 else w for i, w in enumerate(a)], dtype=points.dtype,
                         device=points.device, requires_grad=points.requires_grad)
    order = ops.arange(factors.shape[0], dtype=points.dtype, device=points.device)
    return (factors.unsqueeze(-1) * ops.cos(order.unsqueeze(-1) * k)).sum(0)


def general_hamming(M: int, *, alpha: float = 0.54, sym: bool = True, dtype: Any = None,
                    layout: Any = strided, device: Any = None, requires_grad: bool = False
                    ) -> Any:
    """alpha - (1 - alpha) * cos(x), x over one period."""
    return general_cosine(M, a=[alpha, 1.0 - alpha], sym=sym, dtype=dtype, layout=layout,
                          device=device, requires_grad=requires_grad)


def hamming(M: int, *, sym: bool = True, dtype: Any = None, layout: Any = strided,
            device: Any = None, requires_grad: bool = False) -> Any:
    """0.54 - 0.46 * cos(x), x over one period."""
    return general_hamming(M, sym=sym, dtype=dtype, layout=layout, device=device,
                           requires_grad=requires_grad)


def hann(M: int, *, sym: bool = True, dtype: Any = None, layout: Any = strided,
         device: Any = None, requires_grad: bool = False) -> Any:
    """0.5 - 0.5 * cos(x), x over one period."""
    return general_hamming(M, alpha=0.5, sym=sym, dtype=dtype, layout=layout, device=device,
                           requires_grad=requires_grad)


def blackman(M: int, *, sym: bool = True, dtype: Any = None, layout: Any = strided,
             device: Any = None, requires_grad: bool = False) -> Any:
    """0.42 - 0.5 * cos(x) + 0.08 * cos(2 * x), x over one period."""
    points = _Points("blackman", M, sym, dtype, layout, device, requires_grad)
    return _cosines(points, (0.42, 0.5, 0.08))


def nuttall(M: int, *, sym: bool = True, dtype: Any = None, layout: Any = strided,
            device: Any = None, requires_grad: bool = False) -> Any:
    """Three cosines whose side lobes are very low."""
    return general_cosine(M, a=[0.3635819, 0.4891775, 0.1365995, 0.0106411], sym=sym, dtype=dtype,
                          layout=layout, device=device, requires_grad=requires_grad)
