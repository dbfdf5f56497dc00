"""Elementary functions under the names of `libdevice`: those of `tl.math`."""

from ..math import (
    abs, acos, acosh, asin, asinh, atan, atan2, atanh, ceil, copysign, cos, cosh, div_rn, erf, erfc,
    erfinv, exp, exp2, expm1, fabs, fast_expf, fdiv, floor, fma, fmod, isinf, isnan, lgamma, log,
    log1p, log2, log10, nearbyint, pow, rint, rsqrt, sigmoid, sin, sinh, sqrt, sqrt_rn, tan, tanh,
    trunc, umulhi,
)

__all__ = [
    "abs", "acos", "acosh", "asin", "asinh", "atan", "atan2", "atanh", "ceil", "copysign", "cos",
    "cosh", "div_rn", "erf", "erfc", "erfinv", "exp", "exp2", "expm1", "fabs", "fast_expf", "fdiv",
    "floor", "fma", "fmod", "isinf", "isnan", "lgamma", "log", "log1p", "log2", "log10",
    "nearbyint", "pow", "rint", "rsqrt", "sigmoid", "sin", "sinh", "sqrt", "sqrt_rn", "tan", "tanh",
    "trunc", "umulhi",
]
