"""Operators that multiply their input with random numbers: dropout in its forms, and rrelu.

The masks are those that PyTorch draws for the same seed. Gradients are those of the product.
"""

from __future__ import annotations

import math
from typing import Any

from ..core.devices import META
from ..core.dtypes import SCALAR_NAMES, float64
from ..runtime import draws
from . import random_fills as fills
from .call import OPERATORS
from .creation import empty, empty_like, make
from .levels import fresh

FUNCTIONS: dict[str, Any] = {}


def bernoulli_mask(like: Any, p: float, generator: Any = None) -> Any:
    """Ones with the chance p, else zeros, with shape, dtype and strides of another tensor.

    `bernoulli_mask(input, 1 - p)` divided by 1 - p is what dropout multiplies its input with.
    """
    own = like._spec
    made = fresh(make(own) if own.dense else empty_like(like.detach()))
    fills.bernoulli_(made, p, generator=generator)
    if made._counter is not None:
        made._counter.value = 0
    return made


_SCALE_ALPHA = 1.7580993408473766  # SELU's scale times its alpha


def _dropped(input: Any, p: float, train: bool, inplace: bool, feature: bool,
             alpha: bool) -> Any:
    if not 0 <= p <= 1:
        raise RuntimeError(f"dropout probability has to be between 0 and 1, but got {p:g}")
    if p == 0 or not train or input._spec.numel == 0:
        return input
    multiply = OPERATORS.mul_ if inplace else OPERATORS.mul
    if p == 1:
        return multiply(input, 0)
    noise = bernoulli_mask(_channels(input) if feature else input, 1 - p)
    if not alpha:
        return multiply(input, OPERATORS.div_(noise, 1 - p))
    scale = 1 / math.sqrt((_SCALE_ALPHA * _SCALE_ALPHA * p + 1) * (1 - p))
    shift = OPERATORS.add(noise, -1)
    shift = OPERATORS.add_(OPERATORS.mul_(shift, _SCALE_ALPHA * scale), _SCALE_ALPHA * scale * p)
    return OPERATORS.add_(multiply(input, OPERATORS.mul_(noise, scale)), shift)


def _channels(input: Any) -> Any:
    """A tensor with one element a channel: (N, C, 1, ...) for an input (N, C, ...)."""
    made = input._spec
    if made.ndim < 2:
        raise RuntimeError("Feature dropout requires at least 2 dimensions in the input")
    shape = (*made.shape[:2], *[1] * (made.ndim - 2))
    return empty(shape, dtype=made.dtype, device=made.device)


def _dropout(name: str, text: str, feature: bool = False, alpha: bool = False) -> None:
    def plain(input: Any, p: float, train: bool) -> Any:
        return _dropped(input, p, train, False, feature, alpha)

    def in_place(input: Any, p: float, train: bool) -> Any:
        return _dropped(input, p, train, True, feature, alpha)

    _both(name, plain, in_place, text)


def _both(name: str, plain: Any, in_place: Any, text: str) -> None:
    for function, full in ((plain, name), (in_place, name + "_")):
        function.__name__ = function.__qualname__ = full
        function.__doc__ = text
        FUNCTIONS[full] = function


_dropout("dropout", "Zero each element with the chance p, scale the others by 1 / (1 - p).")
_dropout("feature_dropout", "Zero whole channels with the chance p.", feature=True)
_dropout("alpha_dropout", "Dropout that keeps mean and variance of SELU's outputs.", alpha=True)
_dropout("feature_alpha_dropout", "`alpha_dropout` of whole channels.", feature=True, alpha=True)


# ---- rrelu -----------------------------------------------------------------------------------

def _leaky(input: Any, lower: Any, upper: Any, training: bool, inplace: bool,
           generator: Any) -> Any:
    source = fills.generator_of("rrelu", generator)
    if not training:
        name = "leaky_relu_" if inplace else "leaky_relu"
        return getattr(OPERATORS, name)(input, (lower + upper) / 2)
    slopes = _slopes(input, lower, upper, source)
    return OPERATORS.mul_(input, slopes) if inplace else OPERATORS.mul(slopes, input)


def _slopes(input: Any, lower: float, upper: float, source: Any) -> Any:
    """1 for positive elements, a number of [lower, upper) for each of the others."""
    made = input._spec
    if made.dtype not in fills.DIGITS:
        raise NotImplementedError('"rrelu_with_noise_out_cpu" not implemented for '
                                  f"'{SCALAR_NAMES[made.dtype]}'")
    slopes = empty(tuple(made.shape), dtype=float64, device=made.device)
    if made.numel and made.device is not META:
        values = input.detach().to(float64).contiguous()
        place = values._storage._address + values._offset * 8
        draws.slopes(source, slopes._storage._address, place, made.numel, lower, upper)
    return slopes.to(made.dtype)


def _rrelu(input: Any, lower: float = 1 / 8, upper: float = 1 / 3,
           training: bool = False, generator: Any = None) -> Any:
    return _leaky(input, lower, upper, training, False, generator)


def _rrelu_(input: Any, lower: float = 1 / 8, upper: float = 1 / 3,
            training: bool = False, generator: Any = None) -> Any:
    return _leaky(input, lower, upper, training, True, generator)


_both("rrelu", _rrelu, _rrelu_, "Leaky ReLU whose slopes are random in training.")
