"""Discrete Fourier transforms on NumPy arrays, by NumPy's pocketfft, without a scale of their own.

Each takes the operand's array and then the result's, which it fills, times `scale`.
"""

from __future__ import annotations

from typing import Any

import numpy as np


def complex_transform(x: Any, out: Any, *, dims: tuple[int, ...], forward: bool, scale: float
                      ) -> None:
    """Complex to complex over dims; forward: the sign of the exponent is negative."""
    made = np.fft.fftn(x, axes=dims) if forward else np.fft.ifftn(x, axes=dims, norm="forward")
    out[...] = made * scale if scale != 1 else made


def real_transform(x: Any, out: Any, *, dims: tuple[int, ...], scale: float) -> None:
    """Real to the half of the complex result that determines the rest."""
    made = np.fft.rfftn(x, axes=dims)
    out[...] = made * scale if scale != 1 else made


def half_transform(x: Any, out: Any, *, dims: tuple[int, ...], scale: float) -> None:
    """The half of a hermitian spectrum to real; the sign of the exponent is positive."""
    for d in dims[:-1]:
        x = np.fft.ifft(x, axis=d, norm="forward")
    made = np.fft.irfft(x, out.shape[dims[-1]], axis=dims[-1], norm="forward")
    out[...] = made * scale if scale != 1 else made
