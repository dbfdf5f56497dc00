"""Complex values of kernel bodies: pairs of real expressions.

The IR has real numbers only. A complex buffer is two real ones (`runtime.parts`), and a body gets
a `Complex` for each complex operand; Python's operators and the functions of `loops.scalar` take
it as they take an expression, so that most bodies serve both. What has no meaning for complex
numbers raises `Unsupported`, which the caller words as PyTorch does.

A real expression beside a `Complex` is an exact real: it scales both parts. A real *operand* of a
complex operator was cast before and has an imaginary part of 0, as in PyTorch.
"""

from __future__ import annotations

from typing import Any, final

from ..core.dtypes import BOOL, COMPLEX, DType, bool_
from . import ir
from .ir import Expr

Part = Any  # a real expression


class Unsupported(TypeError):
    """An operation that complex numbers do not have (here)."""


@final
class Complex:
    """re + i im. `whole`: the buffer and offset of a load that nothing was done to, else None."""

    __slots__ = ("re", "im", "dtype", "whole")

    def __init__(self, re: Expr, im: Expr, dtype: DType, whole: Any = None) -> None:
        self.re, self.im, self.dtype, self.whole = re, im, dtype, whole

    def __repr__(self) -> str:
        return f"Complex({self.re}, {self.im})"

    def __add__(self, other: object) -> Any:
        return ir.operate("add", self, other)

    def __radd__(self, other: object) -> Any:
        return ir.operate("add", other, self)

    def __sub__(self, other: object) -> Any:
        return ir.operate("sub", self, other)

    def __rsub__(self, other: object) -> Any:
        return ir.operate("sub", other, self)

    def __mul__(self, other: object) -> Any:
        return ir.operate("mul", self, other)

    def __rmul__(self, other: object) -> Any:
        return ir.operate("mul", other, self)

    def __truediv__(self, other: object) -> Any:
        return ir.operate("div", self, other)

    def __rtruediv__(self, other: object) -> Any:
        return ir.operate("div", other, self)

    def __neg__(self) -> Any:
        return ir.operate("neg", self)

    def eq(self, other: object) -> Any:
        """Whether both parts are equal."""
        return ir.operate("eq", self, other)

    def ne(self, other: object) -> Any:
        """Whether some part differs."""
        return ir.operate("ne", self, other)

    def _refused(self, *_: object) -> Any:
        raise Unsupported("complex numbers have no order and no bits")

    __lt__ = __le__ = __gt__ = __ge__ = __and__ = __or__ = __xor__ = __invert__ = _refused
    __rand__ = __ror__ = __rxor__ = __lshift__ = __rshift__ = _refused

    def __bool__(self) -> bool:
        raise TypeError("an expression has no truth value while a kernel is being written; "
                        "use where(condition, a, b)")


def load(buffer: int, dtype: DType, offset: Expr | None) -> Complex:
    """The complex element of a buffer; buffer -1 - k is that of the imaginary parts of k."""
    part = dtype.to_real()
    args = () if offset is None else (offset * 2,)
    return Complex(ir.make("load", part, args, buffer), ir.make("load", part, args, -1 - buffer),
                   dtype, (buffer, offset))


def const(value: Any, dtype: DType) -> Complex:
    """A complex constant."""
    number, part = complex(value), dtype.to_real()
    return Complex(ir.const(number.real, part), ir.const(number.imag, part), dtype)


def cast(value: Any, dtype: DType) -> Any:
    """To or from a complex dtype: the imaginary part is 0 or goes, truth is that of either."""
    if dtype.category == COMPLEX:
        part = dtype.to_real()
        if isinstance(value, Complex):
            if value.dtype is dtype:
                return value
            return Complex(ir.cast(value.re, part), ir.cast(value.im, part), dtype)
        return Complex(ir.cast(value, part), ir.const(0, part), dtype)
    if dtype.category == BOOL:
        return value.re.ne(0) | value.im.ne(0)
    return ir.cast(value.re, dtype)


def real(z: Any) -> Any:
    """The real part; a real expression is its own."""
    return z.re if isinstance(z, Complex) else z


def imag(z: Any) -> Any:
    """The imaginary part."""
    return z.im if isinstance(z, Complex) else ir.const(0, z.dtype)


def conj(z: Any) -> Any:
    """The complex conjugate; a real expression is its own."""
    return Complex(z.re, -z.im, z.dtype) if isinstance(z, Complex) else z


def parts(z: Any) -> list[Expr]:
    """The real expressions that make up a value."""
    return [z.re, z.im] if isinstance(z, Complex) else [z]


def joined(like: Any, values: list[Expr]) -> Any:
    """`parts` undone: a value of the kind of `like`."""
    return Complex(values[0], values[1], like.dtype) if isinstance(like, Complex) else values[0]


def fold(kind: str, z: Complex) -> Complex:
    """Sums go part by part."""
    if kind != "sum":
        raise Unsupported(f"fold {kind}")
    return Complex(ir.fold(kind, z.re), ir.fold(kind, z.im), z.dtype)


def scan(kind: str, z: Complex) -> Complex:
    """Running sums go part by part."""
    if kind != "sum":
        raise Unsupported(f"scan {kind}")
    return Complex(ir.scan(kind, z.re), ir.scan(kind, z.im), z.dtype)


def operate(name: str, operands: tuple[Any, ...]) -> Any:
    """An operation with a complex operand; Python numbers and real expressions are exact."""
    values = operands[1:] if name == "where" else operands
    found = next((v for v in values if isinstance(v, Complex)), None)
    if found is None:  # a Python complex number beside real expressions
        raise Unsupported(name)
    if name in ("add", "sub", "mul", "div", "fma"):
        return _ARITHMETIC[name](*(_lifted(v, found.dtype) for v in operands))
    full = [_complete(v, found.dtype) for v in values]
    if name == "where":
        condition, (then, other) = operands[0], full
        return Complex(ir.operate("where", condition, then.re, other.re),
                       ir.operate("where", condition, then.im, other.im), found.dtype)
    from .complex_functions import FUNCTIONS

    function = FUNCTIONS.get(name)
    if function is None:
        raise Unsupported(name)
    return function(*full)


def _lifted(value: Any, dtype: DType) -> Any:
    """A number beside a complex one: exact reals stay real expressions."""
    if isinstance(value, Complex):
        if value.dtype is not dtype:
            raise TypeError(f"operands must have one dtype: {dtype} and {value.dtype}; cast one "
                            "of them")
        return value
    if isinstance(value, Expr):
        return value
    if isinstance(value, complex):
        return const(value, dtype)
    return ir.const(value, dtype.to_real())


def _complete(value: Any, dtype: DType) -> Complex:
    made = _lifted(value, dtype)
    return made if isinstance(made, Complex) else Complex(made, ir.const(0, made.dtype), dtype)


# ---- arithmetic ------------------------------------------------------------------------------

def _add(x: Any, y: Any) -> Complex:
    if isinstance(x, Complex) and isinstance(y, Complex):
        return Complex(x.re + y.re, x.im + y.im, x.dtype)
    z, r = (x, y) if isinstance(x, Complex) else (y, x)
    return Complex(z.re + r, z.im, z.dtype)


def _sub(x: Any, y: Any) -> Complex:
    if not isinstance(y, Complex):
        return Complex(x.re - y, x.im, x.dtype)
    if not isinstance(x, Complex):
        return Complex(x - y.re, -y.im, y.dtype)
    return Complex(x.re - y.re, x.im - y.im, x.dtype)


def _mul(x: Any, y: Any) -> Complex:
    if isinstance(x, Complex) and isinstance(y, Complex):
        return Complex(x.re * y.re - x.im * y.im, x.re * y.im + x.im * y.re, x.dtype)
    z, r = (x, y) if isinstance(x, Complex) else (y, x)
    return Complex(z.re * r, z.im * r, z.dtype)


def _div(x: Any, y: Any) -> Complex:
    """Smith's method: no overflow where the quotient has none."""
    if not isinstance(y, Complex):
        return Complex(x.re / y, x.im / y, x.dtype)
    a, b = (x.re, x.im) if isinstance(x, Complex) else (x, ir.const(0, x.dtype))
    c, d = y.re, y.im
    where = _where
    wide = abs_of(c) >= abs_of(d)
    big, small = where(wide, c, d), where(wide, d, c)
    ratio = small / big
    scale = 1.0 / (big + small * ratio)
    first, second = where(wide, a, b), where(wide, b, a)
    re = (first + second * ratio) * scale
    im = where(wide, b - a * ratio, b * ratio - a) * scale
    zero = c.eq(0) & d.eq(0)
    return Complex(where(zero, a / abs_of(c), re), where(zero, b / abs_of(d), im), y.dtype)


def _fma(x: Any, y: Any, z: Any) -> Complex:
    """x * y + z; by parts, with one rounding, where one factor is real."""
    if isinstance(x, Complex) and isinstance(y, Complex):
        return _add(_mul(x, y), z)
    if not isinstance(x, Complex) and not isinstance(y, Complex):
        return Complex(ir.operate("fma", x, y, z.re), z.im, z.dtype)
    w, r = (x, y) if isinstance(x, Complex) else (y, x)
    if not isinstance(z, Complex):
        return Complex(ir.operate("fma", w.re, r, z), w.im * r, w.dtype)
    return Complex(ir.operate("fma", w.re, r, z.re), ir.operate("fma", w.im, r, z.im), w.dtype)


def _where(condition: Expr, then: Part, otherwise: Part) -> Part:
    return ir.operate("where", condition, then, otherwise)


def abs_of(x: Part) -> Part:
    """|x| of a real expression."""
    return ir.operate("abs", x)


_ARITHMETIC = {"add": _add, "sub": _sub, "mul": _mul, "div": _div, "fma": _fma}

__all__ = ["Complex", "Unsupported", "bool_", "cast", "conj", "const", "fold", "imag", "joined",
           "load", "operate", "parts", "real", "scan"]
