"""Operators that multiply their input with random numbers: dropout in its forms, and rrelu.

The masks are those that PyTorch draws for the same seed. Gradients are those of the product.
"""

from __future__ import annotations

import math
from typing import Any

from ..core.devices import META
from ..core.dtypes import SCALAR_NAMES, DType, bfloat16, bool_, float32, float64
from ..core.tensor_base import address_of
from ..runtime import draws
from . import random_fills as fills
from .call import OPERATORS
from .creation import empty, empty_like, full, make
from .levels import fresh, random_call
from .state import STATE

FUNCTIONS: dict[str, Any] = {}


def bernoulli_mask(like: Any, p: float, generator: Any = None) -> Any:
    """Ones with the chance p, else zeros, with shape, dtype and strides of another tensor.

    `bernoulli_mask(input, 1 - p)` divided by 1 - p is what dropout multiplies its input with.
    """
    own = like._spec
    if fills.planned(own):
        source = fills.generator_of("bernoulli_", generator)
        fills.check_chance(own, p)
        return fills.planned_draw(own, source, "bernoulli", p, 0.0)
    made = fresh(make(own) if own.dense else empty_like(like.detach()))
    fills.bernoulli_(made, p, generator=generator)
    if made._counter is not None:
        made._counter.value = STATE.birth
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
        return multiply(input, False if input._spec.dtype is bool_ else 0)
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
    for function, own in ((plain, name), (in_place, name + "_")):
        function.__name__ = function.__qualname__ = own
        function.__doc__ = text
        FUNCTIONS[own] = function


_dropout("dropout", "Zero each element with the chance p, scale the others by 1 / (1 - p).")
_dropout("feature_dropout", "Zero whole channels with the chance p.", feature=True)
_dropout("alpha_dropout", "Dropout that keeps mean and variance of SELU's outputs.", alpha=True)
_dropout("feature_alpha_dropout", "`alpha_dropout` of whole channels.", feature=True, alpha=True)


def native_dropout(input: Any, p: float, train: bool | None) -> tuple[Any, Any]:
    """Dropout that also gives its mask: (result, bool tensor of what was kept).

    >>> import yesca as torch
    >>> torch.native_dropout(torch.ones(2), 0.5, False)
    (tensor([1., 1.]), tensor([True, True]))
    """
    if not input._spec.numel:
        return input, empty_like(input.detach())
    mask = fresh(empty_like(input.detach(), dtype=bool_))
    if train is False:
        return OPERATORS.clone(input), mask.fill_(True)
    fills.bernoulli_(mask, 1 - p)
    scale = 0.0 if p == 1 else 1 / (1 - p)
    # The scale is rounded to the input's dtype before it is used, as in PyTorch.
    kept = OPERATORS.mul_(OPERATORS.to_dtype(mask, input._spec.dtype), scale)
    return OPERATORS.mul(input, kept), mask


FUNCTIONS["native_dropout"] = native_dropout


# ---- rrelu -----------------------------------------------------------------------------------

def _leaky(input: Any, lower: Any, upper: Any, training: bool, inplace: bool,
           generator: Any) -> Any:
    draws_some = training or generator is not None  # a given one is looked at in any case
    source = fills.generator_of("rrelu", generator) if draws_some else None
    _check_bounds(lower, upper)
    if not inplace:
        input = input.contiguous()
    if not training:
        name = "leaky_relu_" if inplace else "leaky_relu"
        return getattr(OPERATORS, name)(input, (lower + upper) / 2)
    slopes = _slopes(input, lower, upper, source)
    own = input._spec.dtype
    if own is not slopes._spec.dtype:  # bfloat16 is rounded once
        made = OPERATORS.to_dtype(OPERATORS.mul(OPERATORS.to_dtype(input, float32), slopes), own)
        return OPERATORS.copy_(input, made) if inplace else made
    return OPERATORS.mul_(input, slopes) if inplace else OPERATORS.mul(input, slopes)


def _check_bounds(lower: Any, upper: Any) -> None:
    for name, bound in (("lower", lower), ("upper", upper)):
        if not math.isfinite(bound):
            raise RuntimeError(f"rrelu: {name} bound must be finite, got {float(bound):g}")
    if lower > upper:
        raise RuntimeError("Lower bound should be less than or equal to the upper bound")


def _slopes(input: Any, lower: float, upper: float, source: Any) -> Any:
    """1 for positive elements, a number of [lower, upper) for each of the others."""
    made = input._spec
    if made.dtype not in (float32, float64, bfloat16):
        raise NotImplementedError('"rrelu_with_noise_out_cpu" not implemented for '
                                  f"'{SCALAR_NAMES[made.dtype]}'")
    slopes = empty(tuple(made.shape), dtype=float64, device=made.device)
    if made.numel and made.device is not META:
        values = input.detach().resolve_neg().to(float64).contiguous()
        low, high = (_rounded(b, made.dtype) for b in (lower, upper))
        draws.slopes(source, address_of(slopes), address_of(values), made.numel, low, high)
    return slopes if made.dtype is float64 else slopes.to(float32)


def _rounded(number: float, dtype: DType) -> float:
    """A bound in the precision that a dtype is computed in."""
    return number if dtype is float64 else float(full((), number, dtype=float32).item())


@random_call
def _rrelu(input: Any, lower: float = 1 / 8, upper: float = 1 / 3,
           training: bool = False, generator: Any = None) -> Any:
    return _leaky(input, lower, upper, training, False, generator)


@random_call
def _rrelu_(input: Any, lower: float = 1 / 8, upper: float = 1 / 3,
            training: bool = False, generator: Any = None) -> Any:
    return _leaky(input, lower, upper, training, True, generator)


_both("rrelu", _rrelu, _rrelu_, "Leaky ReLU whose slopes are random in training.")
