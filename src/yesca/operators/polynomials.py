"""Orthogonal polynomials, whose degree is a tensor too, zeta, the incomplete gamma functions.

How long a sum or recurrence is depends on the values, so the numbers come from a function of arrays
(`runtime/library/polynomials.py`).
"""

# Names: igamma igamma_parts igammac igammac_parts special_chebyshev_polynomial_t
# Names: special_chebyshev_polynomial_u special_chebyshev_polynomial_v
# Names: special_chebyshev_polynomial_w special_gammainc special_gammaincc
# Names: special_hermite_polynomial_h special_hermite_polynomial_he special_laguerre_polynomial_l
# Names: special_legendre_polynomial_p special_shifted_chebyshev_polynomial_t
# Names: special_shifted_chebyshev_polynomial_u special_shifted_chebyshev_polynomial_v
# Names: special_shifted_chebyshev_polynomial_w

from __future__ import annotations

from typing import Any

from ..base.errors import missing_derivative
from ..core.dtypes import FLOATING, bfloat16, default_for, float32, float64, promote
from ..core.memory_formats import pointwise
from ..core.spec import spec
from ..core.views import broadcast_shapes
from .kinds import composite, rows

_KINDS = ("chebyshev_t", "chebyshev_u", "chebyshev_v", "chebyshev_w")
_OTHERS = ("hermite_h", "hermite_he", "laguerre_l", "legendre_p")


def _name(kind: str) -> str:
    family, _, letter = kind.partition("_")
    return f"{family}_polynomial_{letter}"


def _float_result(p: Any, values: Any) -> Any:
    """A new tensor of the operands' promoted dtype, which is made floating."""
    refs = [v for v in values if p.is_ref(v)]
    dtype = p.promote(refs, [v for v in values if p.is_number(v)])
    if dtype.category < FLOATING:
        dtype = default_for(FLOATING)
    if dtype is bfloat16:
        raise p.record.lacks(p.scalar_name(dtype))
    shape = broadcast_shapes(*(r.spec.shape for r in refs))
    return p.result(spec(dtype, shape, pointwise([r.spec for r in refs], shape), p.device))


def _two(name: str, function: str, **options: Any) -> Any:
    """A program on two operands, one of which may be a number."""
    def program(p: Any, first: Any, second: Any) -> None:
        if not p.is_ref(first) and not p.is_ref(second):
            raise TypeError(f"{name}(): at least one of the arguments must be Tensor")
        out = _float_result(p, (first, second))
        if p.is_ref(first) and p.is_ref(second):
            p.host(function, [out, first, second], **options)
        elif p.is_ref(first):
            p.host(function, [out, first], [1], **options)
        else:
            p.host("second_first", [out, second], [0], function=function, **options)
    return program


for _kind in (*_KINDS, *_OTHERS):
    for _shifted in (False, True) if _kind in _KINDS else (False,):
        _title = f"special_{'shifted_' if _shifted else ''}{_name(_kind)}"
        rows(f"{_title}(Tensor x, Tensor n) -> Tensor",
             _two(_title, "polynomial", kind=_kind, shifted=_shifted), kind="library",
             numbers=("x", "n"), method=False, out=True,
             doc="The polynomial of degree n at x" + (" * 2 - 1." if _shifted else "."))


def _not_implemented(name: str, operator: str) -> Any:
    def back(grad: Any) -> Any:
        raise missing_derivative(name, operator)
    return back


def _zeta_back(ops: Any, grad: Any, self: Any, other: Any, other_spec: Any) -> Any:
    slope = ops.mul(ops.special_zeta(self + 1, other), -self)  # self: a tensor or a number
    return ops.sum_to_size(ops.mul(grad, slope), tuple(other_spec.shape))


rows("special_zeta(Tensor self, Tensor other) -> Tensor", _two("special_zeta", "zeta"),
     kind="library", numbers=("self", "other"), method=False, out=True,
     node_name="SpecialZetaBackward0",
     backward={"self": _not_implemented("zeta", "special_zeta"), "other": _zeta_back},
     doc="Hurwitz's zeta function: the sum of (other + k) ** -self over k >= 0.")


# ---- the incomplete gamma functions ------------------------------------------------------------

def _gamma(upper: bool) -> Any:
    def program(p: Any, self: Any, other: Any, lead: Any) -> None:
        p.host("incomplete_gamma", [_float_result(p, (self, other)), self, other, lead],
               upper=upper)
    return program


def _gamma_public(name: str) -> Any:
    def body(ops: Any, self: Any, other: Any) -> Any:
        for k, (x, label) in enumerate(((self, "input"), (other, "other")), start=1):
            if isinstance(x, (int, float)):
                raise TypeError(f"{name}(): argument '{label}' (position {k}) must be Tensor, not "
                                f"{type(x).__name__}")
        if bfloat16 in (self.dtype, other.dtype):
            made = body(ops, ops.to_dtype(self, float32), ops.to_dtype(other, float32))
            return ops.to_dtype(made, promote(self.dtype, other.dtype))
        wide, x = ops.to_dtype(self.detach(), float64), ops.to_dtype(other.detach(), float64)
        power = ops.sub(ops.sub(ops.mul(ops.log(x), wide), x), ops.lgamma(ops.add(wide, 1)))
        return getattr(ops, f"{name}_parts")(self, other, ops.exp(power))
    return body


def _gamma_back(sign: float) -> Any:
    def back(ops: Any, grad: Any, self: Any, other: Any, other_spec: Any) -> Any:
        slope = ops.exp(ops.sub(ops.sub(ops.mul(ops.sub(self, 1), ops.log(other)), other),
                                ops.lgamma(self)))
        return ops.sum_to_size(ops.mul(ops.mul(grad, slope), sign), tuple(other_spec.shape))
    return back


for _gamma_name, _other, _upper in (("igamma", "special_gammainc", False),
                                    ("igammac", "special_gammaincc", True)):
    rows(f"{_gamma_name}_parts(Tensor self, Tensor other, Tensor lead) -> Tensor", _gamma(_upper),
         kind="library", method=False, node_name=f"{_gamma_name.capitalize()}Backward0",
         backward={"self": _not_implemented(f"{_gamma_name}: input", _gamma_name),
                   "other": _gamma_back(-1.0 if _upper else 1.0)})
    composite(f"{_gamma_name}(Tensor self, Tensor other) -> Tensor", _gamma_public(_gamma_name),
              out=True, inplace=True, aliases=(_other,),
              doc=f"The regularised {'upper' if _upper else 'lower'} incomplete gamma function.")
