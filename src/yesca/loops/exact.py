"""fma in NumPy, with one rounding.

The sum of a product's two parts and a third number is rounded to odd before the last rounding to
nearest, which then cannot be led astray (Boldo and Melquiond). Where a float64 product or its parts
leave the normal range, rational arithmetic is used.
"""

from __future__ import annotations

import math
from typing import Any


def fma(a: Any, b: Any, c: Any) -> Any:
    """a * b + c of arrays of one dtype; integers wrap around."""
    import numpy as np

    kind = np.result_type(a, b, c)
    if kind == np.float32:
        return _fma_single(a, b, c)
    if kind == np.float64:
        return _fma_double(*np.broadcast_arrays(a, b, c))
    return a * b + c


def _two_sum(a: Any, b: Any) -> tuple[Any, Any]:
    total = a + b
    part = total - a
    return total, (a - (total - part)) + (b - part)


def _odd(total: Any, error: Any) -> Any:
    """total + error rounded to odd: towards the neighbour with an odd last bit, if inexact."""
    import numpy as np

    bits = np.ascontiguousarray(total).view(np.int64)
    step = np.where((error > 0) == (total > 0), 1, -1)
    change = np.isfinite(total) & (error != 0) & (bits & 1 == 0)
    return np.where(change, bits + step, bits).view(np.float64).reshape(np.shape(total))


def _fma_single(a: Any, b: Any, c: Any) -> Any:
    import numpy as np

    product = np.float64(a) * np.float64(b)  # exact
    total, error = _two_sum(product, np.float64(c))
    return np.asarray(_odd(total, error)).astype(np.float32)


def _two_product(a: Any, b: Any) -> tuple[Any, Any]:
    """Dekker's product: both factors cut in halves of 26 bits."""
    def halves(x: Any) -> tuple[Any, Any]:
        wide = x * 134217729.0  # 2**27 + 1
        high = wide - (wide - x)
        return high, x - high

    product = a * b
    (a1, a2), (b1, b2) = halves(a), halves(b)
    return product, ((a1 * b1 - product) + a1 * b2 + a2 * b1) + a2 * b2


def _fma_double(a: Any, b: Any, c: Any) -> Any:
    import numpy as np

    product, low = _two_product(a, b)
    upper, error = _two_sum(c, low)
    total, rest = _two_sum(product, upper)
    rest_sum, rest_error = _two_sum(error, rest)
    result = np.asarray(total + _odd(np.asarray(rest_sum), rest_error))
    result = np.where((product == 0) | ~np.isfinite(product) | ~np.isfinite(c), product + c, result)

    finite = np.isfinite(a) & np.isfinite(b)
    result = np.where(finite & ~np.isfinite(c), c, result)

    def ordinary(x: Any, low: float, high: float) -> Any:
        return (x == 0) | ((np.abs(x) > low) & (np.abs(x) < high)) | ~np.isfinite(x)

    safe = ordinary(a, 2.0**-400, 2.0**400) & ordinary(b, 2.0**-400, 2.0**400) \
        & ordinary(c, 2.0**-900, 2.0**900) & (ordinary(product, 2.0**-800, 2.0**900) | ~finite)
    if safe.all():
        return result
    result = result.copy()
    for index in zip(*np.nonzero(~safe), strict=True):
        result[index] = _rational(float(a[index]), float(b[index]), float(c[index]))
    return result


def _rational(x: float, y: float, z: float) -> float:
    from fractions import Fraction

    if not (math.isfinite(x) and math.isfinite(y)):
        return x * y + z
    if not math.isfinite(z):
        return z
    exact = Fraction(x) * Fraction(y) + Fraction(z)
    if exact == 0:
        return x * y + z if x and y else 0.0 * math.copysign(1, x) * math.copysign(1, y) + z
    sign = -1.0 if exact < 0 else 1.0
    try:
        return float(exact) or sign * 0.0
    except OverflowError:
        return sign * math.inf
