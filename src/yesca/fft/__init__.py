"""`torch.fft`: discrete Fourier transforms.

>>> import yesca as torch
>>> torch.fft.rfft(torch.tensor([1.0, 0.0, -1.0, 0.0])).real
tensor([0., 2., 0.])
"""

from __future__ import annotations

from typing import Any

from ..base import absent

_TRANSFORMS = tuple(f"{name}{rank}" for name in ("fft", "ifft", "rfft", "irfft", "hfft", "ihfft")
                    for rank in ("", "2", "n"))
__all__ = [*_TRANSFORMS, "fftfreq", "rfftfreq", "fftshift", "ifftshift"]
_NAMES = frozenset((*_TRANSFORMS, "fftshift", "ifftshift"))


def fftfreq(n: int, d: float = 1.0, *, out: Any = None, dtype: Any = None, layout: Any = None,
            device: Any = None, requires_grad: bool = False) -> Any:
    """The frequencies (n) of fft's results, in cycles per unit of the distance d of samples.

    >>> import yesca as torch
    >>> torch.fft.fftfreq(4)
    tensor([ 0.0000,  0.2500, -0.5000, -0.2500])
    """
    from .. import functional as ops

    made = ops.cat([ops.arange(0, (n + 1) // 2, device="cpu"),
                    ops.arange(-(n // 2), 0, device="cpu")])
    return _scaled(made, n * d, out, dtype, device, requires_grad)


def rfftfreq(n: int, d: float = 1.0, *, out: Any = None, dtype: Any = None, layout: Any = None,
             device: Any = None, requires_grad: bool = False) -> Any:
    """The frequencies (n // 2 + 1) of rfft's results."""
    from .. import functional as ops

    made = ops.arange(0, n // 2 + 1, device="cpu")
    return _scaled(made, n * d, out, dtype, device, requires_grad)


def _scaled(numbers: Any, length: float, out: Any, dtype: Any, device: Any,
            requires_grad: bool) -> Any:
    from ..core.devices import resolve
    from ..core.dtypes import get_default_dtype
    from ..dispatch import creation

    made = (numbers.to(dtype or get_default_dtype()) * (1.0 / length)).to(resolve(device))
    if out is not None:
        out.resize_(made.shape)
        return out.copy_(made)
    return creation.finished(made, requires_grad)


def __getattr__(name: str) -> Any:
    if name not in _NAMES:
        raise absent.error(__name__, name)
    from .. import functional

    made = globals()[name] = getattr(functional, f"fft_{name}")
    return made


def __dir__() -> list[str]:
    return sorted({*globals(), *_NAMES})
