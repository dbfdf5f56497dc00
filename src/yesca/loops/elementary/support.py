"""What the elementary functions share: the layout of a float format, and small idioms.

`where(x > c, c, x)` is used for bounds instead of `minimum`: it keeps a NaN in x as well, and is
one machine instruction where `minimum` (a NaN on either side wins) takes several.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ...core.dtypes import DType, float32, float64, int32, int64
from ..ir import Expr, bitcast, const, operate
from ..scalar import fma, where


@dataclass(frozen=True)
class Format:
    """A binary float format, and constants that depend on it."""

    dtype: DType
    integer: DType
    mantissa: int  # explicit bits: 23 or 52
    bias: int
    largest: float
    smallest_normal: float

    @property
    def magic(self) -> float:
        """1.5 * 2**mantissa: x + magic has round(x) in its lowest bits, for small x."""
        return 1.5 * 2.0**self.mantissa


SINGLE = Format(float32, int32, 23, 127, (2 - 2.0**-23) * 2.0**127, 2.0**-126)
DOUBLE = Format(float64, int64, 52, 1023, (2 - 2.0**-52) * 2.0**1023, 2.0**-1022)


def format_of(x: Expr) -> Format:
    """The format of an expression of dtype float32 or float64."""
    if x.dtype is float32:
        return SINGLE
    if x.dtype is float64:
        return DOUBLE
    raise TypeError(f"[expand_math] elementary functions take float32 and float64, got {x.dtype}; "
                    "cast half types to float32 in the record")


def by_format(x: Expr, single: Any, double: Any) -> Any:
    """One of two constants or tables, by the dtype of x."""
    return single if format_of(x) is SINGLE else double


def horner(x: Expr, coefficients: Sequence[float | Expr]) -> Expr:
    """The polynomial with these coefficients, the constant one first."""
    last = coefficients[-1]
    result = last if isinstance(last, Expr) else const(last, x.dtype)
    for coefficient in reversed(coefficients[:-1]):
        result = fma(result, x, coefficient)
    return result


def at_most(x: Expr, bound: float) -> Expr:
    """x, or the bound where x is above it; a NaN stays."""
    return where(x > bound, bound, x)


def at_least(x: Expr, bound: float) -> Expr:
    """x, or the bound where x is below it; a NaN stays."""
    return where(x < bound, bound, x)


def power_of_two(exponent: Expr, fmt: Format) -> Expr:
    """2**exponent for an integer exponent of a normal number."""
    return bitcast((exponent + fmt.bias) << fmt.mantissa, fmt.dtype)


def absolute(x: Expr) -> Expr:
    return operate("abs", x)


def copysign(x: object, y: Expr) -> Expr:
    return operate("copysign", x, y)


def two_sum(a: Expr, b: Expr) -> tuple[Expr, Expr]:
    """a + b as a rounded sum and its error, for |a| >= |b|."""
    total = a + b
    return total, b - (total - a)


def two_product(a: Expr, b: object) -> tuple[Expr, Expr]:
    """a * b as a rounded product and its error."""
    product = operate("mul", a, b)
    return product, fma(a, b, -product)


def nan_like(x: Expr) -> Expr:
    return const(math.nan, x.dtype)


def infinity_like(x: Expr) -> Expr:
    return const(math.inf, x.dtype)
