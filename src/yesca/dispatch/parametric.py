"""Draws whose parameters are tensors: `poisson`, `binomial`, gamma and Dirichlet numbers.

Parameters go to the native code as float64, in the order of the result's memory.
"""

from __future__ import annotations

from typing import Any

from ..base.errors import type_name
from ..core.devices import META
from ..core.dtypes import FLOATING, SCALAR_NAMES, DType, float32, float64
from ..core.numeric_limits import limits_of
from ..core.spec import Spec, spec
from ..core.tensor_base import TensorBase, address_of
from ..core.views import broadcast_shapes
from ..runtime import draws
from . import random_fills as fills
from .call import OPERATORS
from .creation import make
from .levels import random_call


def on_tape(name: str, drawn: Any, *parameters: Any) -> Any:
    """What was drawn, as a result of its parameters where one of them wants a gradient."""
    if not OPERATORS.has_derivative(*parameters):
        return drawn
    dtype = drawn._spec.dtype
    same = [p if p._spec.dtype is dtype else OPERATORS.to_dtype(p, dtype) for p in parameters]
    return getattr(OPERATORS, f"drawn_{name}")(drawn, *same)


def _checked(name: str, argument: str, position: int, value: Any) -> Any:
    if not isinstance(value, TensorBase):
        raise TypeError(f"{name}(): argument '{argument}' (position {position}) must be Tensor, "
                        f"not {type_name(value)}")
    return value._spec


def _kernel(name: str, dtype: DType, allowed: Any) -> None:
    if dtype not in allowed:
        raise NotImplementedError(f'"{name}" not implemented for \'{SCALAR_NAMES[dtype]}\'')


def _wide(value: Any, wide: Spec) -> Any:
    """A parameter as a contiguous float64 tensor of a shape."""
    value = value.detach()
    return value if value._spec is wide else OPERATORS.copy_(make(wide), value)


def _numbers(draw: Any, source: Any, shape: Any, device: Any, *parameters: Any,
             options: tuple[Any, ...] = ()) -> Any:
    """float64 numbers of a shape, and what the draw returned."""
    wide = spec(float64, tuple(shape), None, device)
    made = make(wide)
    if not wide.numel or device is META:
        return made, wide.numel
    given = [_wide(p, wide) for p in parameters]
    return made, draw(source, address_of(made), *map(address_of, given), wide.numel, *options)


@random_call
def poisson(input: Any, generator: Any = None) -> Any:
    """Poisson distributed counts with the rates that `input` holds, in its dtype.

    >>> import yesca as torch
    >>> _ = torch.manual_seed(0)
    >>> torch.poisson(torch.tensor([0.0, 4.0, 100.0]))
    tensor([  0.,   7., 102.])
    """
    made = _checked("poisson", "input", 1, input)
    source = fills.generator_of("poisson", generator)
    _kernel("poisson_cpu", made.dtype, fills.DIGITS)
    drawn, count = _numbers(draws.poisson, source, made.shape, made.device, input)
    if count < made.numel:
        raise RuntimeError("invalid Poisson rate, expected rate to be non-negative")
    return on_tape("poisson", OPERATORS.to_dtype(drawn, made.dtype), input)


@random_call
def binomial(count: Any, prob: Any, generator: Any = None) -> Any:
    """How many of `count` trials succeed with the chances `prob`: tensors that broadcast.

    >>> import yesca as torch
    >>> _ = torch.manual_seed(0)
    >>> torch.binomial(torch.tensor([10.0, 1000.0]), torch.tensor(0.5))
    tensor([  7., 504.])
    """
    trials, chances = _checked("binomial", "count", 1, count), _checked("binomial", "prob", 2, prob)
    source = fills.generator_of("binomial", generator)
    for argument, given in (("count", trials), ("prob", chances)):
        if given.dtype.category != FLOATING:
            raise ValueError(f"binomial only supports floating-point dtypes for {argument}, got: "
                             f"{SCALAR_NAMES[given.dtype]}")
    if trials.dtype is not chances.dtype:
        raise RuntimeError(f"Found dtype {SCALAR_NAMES[chances.dtype]} but expected "
                           f"{SCALAR_NAMES[trials.dtype]}: count and prob must have one dtype")
    shape = broadcast_shapes(trials.shape, chances.shape)
    _kernel("binomial_cpu", trials.dtype, (float32, float64))
    drawn, _ = _numbers(draws.binomial, source, shape, trials.device, count, prob)
    return on_tape("binomial", OPERATORS.to_dtype(drawn, trials.dtype), count, prob)


@random_call
def _standard_gamma(self: Any, generator: Any = None) -> Any:
    """Gamma distributed numbers of scale 1 with the shapes that a tensor holds."""
    made = _checked("_standard_gamma", "input", 1, self)
    source = fills.generator_of("_standard_gamma", generator)
    _kernel("gamma_cpu", made.dtype, (float32, float64))
    drawn, _ = _numbers(draws.gamma, source, made.shape, made.device, self,
                        options=(made.dtype is float32,))
    least = limits_of(made.dtype).tiny
    rounded = OPERATORS.to_dtype(drawn, made.dtype)
    return on_tape("gamma", OPERATORS.clamp_min(rounded, least), self)


@random_call
def _sample_dirichlet(self: Any, generator: Any = None) -> Any:
    """Numbers of the Dirichlet distributions with concentrations (..., n): rows of sum 1."""
    made = _checked("_sample_dirichlet", "input", 1, self)
    source = fills.generator_of("_sample_dirichlet", generator)
    _kernel("dirichlet", made.dtype, (float32, float64))
    drawn, _ = _numbers(draws.gamma, source, made.shape, made.device, self, options=(False,))
    shares = OPERATORS.div(drawn, OPERATORS.sum(drawn, -1, True))
    shares = OPERATORS.to_dtype(shares, made.dtype)
    limits = limits_of(made.dtype)
    within = OPERATORS.clamp(shares, limits.tiny, 1 - limits.eps / 2)
    return on_tape("dirichlet", within, self)


FUNCTIONS: dict[str, Any] = {
    f.__name__: f for f in (poisson, binomial, _standard_gamma, _sample_dirichlet)}
