"""The interpreter: what a stage means, in NumPy. Tests compare machine code with it.

`evaluate(stage, arrays, arguments)` takes one array per buffer, broadcast to the domain (for a
rows stage the last axis is the inner one; buffers that do not vary along it have size 1 there)
and gives one array per store, in the dtype of the buffer stored to. In place of an array there
may be a function that reads memory: it gets the offsets of a load (None without) and gives
values. Half types are computed as the IR says: the casts are in the expressions.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from ..core import small_floats
from ..core.dtypes import BOOL, FLOATING, SMALL_FLOATS, DType, bfloat16, uint64
from .exact import fma
from .ir import Expr, Stage, fold_kind, walk


def numpy_dtype(dtype: DType) -> Any:
    """NumPy's dtype of the same name; bfloat16 and floats of 8 bits are carried as float32."""
    import numpy as np

    return np.dtype("float32" if dtype is bfloat16 or dtype in SMALL_FLOATS else dtype.name)


def round_bfloat16(x: Any) -> Any:
    """Round float32 values to the nearest bfloat16, ties to even, kept as float32."""
    import numpy as np

    bits = np.ascontiguousarray(x, np.float32).view(np.uint32)
    rounded = (bits + 0x7FFF + ((bits >> 16) & 1)) & np.uint32(0xFFFF0000)
    numbers = rounded.view(np.float32).reshape(np.shape(x))
    return np.where(np.isnan(x), np.float32(math.nan), numbers)


def round_small(x: Any, dtype: DType) -> Any:
    """Round float32 values to a float of 8 bits, kept as float32: one number at a time."""
    import numpy as np

    known = small_floats.values(dtype)
    return np.vectorize(lambda v: known[small_floats.code_of(v, dtype)], otypes=[np.float32])(x)


def _unsigned(x: Any) -> Any:
    """Floats below 2**64 as 64 bits; negative ones wrap around."""
    import numpy as np

    large = x >= 2.0**63
    rest = np.where(large, x - 2.0**63, x).astype(np.int64).astype(np.uint64)
    return rest ^ (large.astype(np.uint64) << np.uint64(63))


def convert(x: Any, dtype: DType) -> Any:
    """The cast operation."""
    import numpy as np

    if dtype.category == BOOL:
        return np.asarray(x) != 0
    with np.errstate(all="ignore"):
        if dtype is bfloat16:
            return round_bfloat16(np.asarray(x, np.float32))
        if dtype in SMALL_FLOATS:
            return round_small(np.asarray(x, np.float32), dtype)
        if dtype.category != FLOATING and np.asarray(x).dtype.kind == "f":
            if dtype is uint64:
                return np.where(np.asarray(x) >= 2.0**64, np.uint64(0), _unsigned(np.asarray(x)))
            middle = np.int32 if dtype.itemsize <= 2 else np.int64
            return np.asarray(x).astype(middle).astype(numpy_dtype(dtype))
        return np.asarray(x).astype(numpy_dtype(dtype))


def evaluate(stage: Stage, arrays: Sequence[Any], arguments: Sequence[Any] = (),
             domain: tuple[int, ...] | None = None) -> list[Any]:
    """The values of the stage's stores."""
    import numpy as np

    shape = np.broadcast_shapes(*(np.shape(a) for a in arrays)) if domain is None else domain
    values: dict[Expr, Any] = {}
    with np.errstate(all="ignore"):
        for node in walk(*stage.roots()):
            values[node] = _node(node, [values[a] for a in node.args], arrays, arguments, shape,
                                 stage.kind)
    return [convert(values[s.value], stage.buffers[s.buffer].dtype) for s in stage.stores]


def _node(node: Expr, args: list[Any], arrays: Sequence[Any], arguments: Sequence[Any],
          shape: tuple[int, ...], kind: str = "flat") -> Any:
    import numpy as np

    if node.op == "const":
        return np.asarray(node.attr, numpy_dtype(node.dtype))
    if node.op == "argument":
        return convert(arguments[node.attr], node.dtype)
    if node.op == "load":
        source = arrays[node.attr]
        if callable(source):
            return source(args[0] if args else None)
        if args:
            return np.asarray(source).reshape(-1)[np.asarray(args[0], np.int64)]
        return np.asarray(source)
    if node.op == "coord":
        if node.attr == "inner":
            return np.arange(shape[-1], dtype=np.int64)
        points = (*shape[:-1], 1) if kind == "rows" else shape  # of a rows stage: its rows
        return np.arange(math.prod(points), dtype=np.int64).reshape(points)
    if node.op == "fold":
        return _fold(fold_kind(node), np.broadcast_to(args[0], np.broadcast_shapes(
            np.shape(args[0]), (shape[-1],))))
    if node.op == "scan":
        return _scan(node.attr, args[0])
    if node.op == "cast":
        return convert(args[0], node.dtype)
    if node.op == "bitcast":
        return np.ascontiguousarray(args[0]).view(numpy_dtype(node.dtype))
    result = OPERATORS[node.op](*args)
    if node.dtype is bfloat16:
        return round_bfloat16(result)
    if node.dtype in SMALL_FLOATS:
        return round_small(result, node.dtype)
    return np.asarray(result).astype(numpy_dtype(node.dtype), copy=False)


def _fold(kind: str, x: Any) -> Any:
    import numpy as np

    if kind == "any":
        return np.any(x, -1, keepdims=True)
    if kind == "all":
        return np.all(x, -1, keepdims=True)
    if kind in ("argmax", "argmin"):
        worst = np.inf if kind == "argmax" else -np.inf
        keyed = np.where(np.isnan(x), worst, x) if x.dtype.kind == "f" else x
        return getattr(np, kind)(keyed, -1, keepdims=True)
    function = {"sum": np.sum, "prod": np.prod, "max": np.max, "min": np.min}[kind]
    return function(x, -1, keepdims=True, **({"dtype": x.dtype} if kind in ("sum", "prod") else {}))


def _scan(kind: str, x: Any) -> Any:
    import numpy as np

    ufunc = {"sum": np.add, "prod": np.multiply, "max": np.maximum, "min": np.minimum}[kind]
    return ufunc.accumulate(x, -1, dtype=x.dtype)


def _trunc_div(a: Any, b: Any) -> Any:
    import numpy as np

    safe = np.where(b == 0, 1, b)
    # Not by absolute values: the least integer has none.
    return ((a - np.fmod(a, safe)) // safe).astype(np.asarray(a).dtype)


def _elementary() -> dict[str, Callable[..., Any]]:
    import numpy as np

    def through(function: Callable[..., float]) -> Callable[..., Any]:
        def apply(*xs: Any) -> Any:
            return np.vectorize(function, otypes=[np.float64])(*xs)
        return apply

    def guarded(function: Callable[[float], float]) -> Callable[[float], float]:
        def call(x: float) -> float:
            try:
                return function(x)
            except (ValueError, OverflowError):
                return math.inf
        return call

    return {
        "erf": through(math.erf), "erfc": through(math.erfc),
        "ndtr": through(lambda x: math.erfc(-x * math.sqrt(0.5)) / 2),
        "lgamma": through(guarded(math.lgamma)),
        "erfinv": through(guarded(_erfinv)), "digamma": through(guarded(_digamma)),
    }


def _erfinv(x: float) -> float:
    """The inverse of erf: from the normal distribution's quantile, then Newton's steps."""
    from statistics import NormalDist

    if abs(x) == 1.0:
        return math.copysign(math.inf, x)
    y = NormalDist().inv_cdf((x + 1.0) / 2.0) / math.sqrt(2.0)
    for _ in range(2):
        y -= (math.erf(y) - x) * math.sqrt(math.pi) / 2.0 * math.exp(y * y)
    return y


def _digamma(x: float) -> float:
    """The asymptotic series at x + 10 or more, and the recurrence down from there."""
    if x <= 0.0 and x == math.floor(x):
        return math.nan if x else -math.inf
    if x < 0.0:
        return _digamma(1.0 - x) - math.pi / math.tan(math.pi * x)
    below = 0.0
    while x < 10.0:
        below += 1.0 / x
        x += 1.0
    square = 1.0 / (x * x)
    series = square * (1 / 12 - square * (1 / 120 - square * (1 / 252 - square * (
        1 / 240 - square * (1 / 132 - square * 691 / 32760)))))
    return math.log(x) - 0.5 / x - series - below


class _Operators(dict):  # type: ignore[type-arg]
    """NumPy functions by operation name, looked up when first needed."""

    def __missing__(self, name: str) -> Callable[..., Any]:
        import numpy as np

        direct = {
            "add": np.add, "sub": np.subtract, "mul": np.multiply, "div": np.divide,
            "idiv": _trunc_div, "irem": np.fmod, "neg": np.negative, "abs": np.abs, "fma": fma,
            "sqrt": np.sqrt, "floor": np.floor, "ceil": np.ceil, "trunc": np.trunc,
            "round": np.rint, "minimum": np.minimum, "maximum": np.maximum,
            "copysign": np.copysign, "and": np.bitwise_and, "or": np.bitwise_or,
            "xor": np.bitwise_xor, "not": np.invert, "shl": np.left_shift,
            "shr": np.right_shift, "lt": np.less, "le": np.less_equal, "gt": np.greater,
            "ge": np.greater_equal, "eq": np.equal, "ne": np.not_equal, "where": np.where,
            "exp": np.exp, "exp2": np.exp2, "expm1": np.expm1, "log": np.log, "log2": np.log2,
            "log10": np.log10, "log1p": np.log1p, "sin": np.sin, "cos": np.cos, "tan": np.tan,
            "asin": np.arcsin, "acos": np.arccos, "atan": np.arctan, "atan2": np.arctan2,
            "sinh": np.sinh, "cosh": np.cosh, "tanh": np.tanh, "asinh": np.arcsinh,
            "acosh": np.arccosh, "atanh": np.arctanh, "pow": np.power, "fmod": np.fmod,
        }
        function = direct.get(name) or _elementary().get(name)
        if function is None:
            raise NotImplementedError(f"[interpret] operation {name!r} has no NumPy counterpart")
        self[name] = function
        return function


OPERATORS: dict[str, Callable[..., Any]] = _Operators()
