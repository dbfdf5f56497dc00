"""Running values along a dimension: sums, products, log-sum-exp."""

from __future__ import annotations

import math
from typing import Any

from ..core.dtypes import FLOATING, SCALAR_NAMES, bool_, int64
from ..core.spec import spec
from ..core.views import wrap_dim
from ..loops import ir
from ..loops.complexes import Complex
from ..loops.ir import cast, const
from ..loops.scalar import (
    absolute, exp, imag, is_complex, log1p, maximum, minimum, real, round_half_even, where,
)
from .kinds import compute_dtype, rows
from .reduction import along


def _running(kind: str) -> Any:
    def program(p: Any, self: Any, dim: int, dtype: Any) -> None:
        source = self.spec.dtype
        result = dtype or (int64 if source.category <= 1 else source)
        if p.inplace_target is not None and not p.exact_target and result is not source:
            raise RuntimeError(f"Bad in-place call: input tensor dtype {SCALAR_NAMES[source]} and "
                               f"output tensor dtype {SCALAR_NAMES[result]} should match")
        if result is bool_:
            raise NotImplementedError(f"\"cum{kind}_out_cpu\" not implemented for 'Bool'")
        made = p.result(spec(result, self.spec.shape, None, p.device))
        x, outer, size = along(p, self, dim)
        seen, _, _ = along(p, made, dim)
        wide = compute_dtype(result)
        if kind == "prod" and wide.is_complex:
            _running_product(p, x, seen, size)
            return
        p.rows(lambda v: ir.scan(kind, cast(v, wide)), [x], [seen], outer, size)
    return program


def _running_product(p: Any, x: Any, out: Any, size: int) -> None:
    """Running products of complex numbers."""
    _doubling(p, x, out, size, lambda a, b: a * b)


def _doubling(p: Any, x: Any, out: Any, size: int, join: Any) -> None:
    """Running values of an associative function: each pass joins spans twice as long."""
    dtype, shape = out.spec.dtype, tuple(out.spec.shape)
    wide = compute_dtype(dtype)
    left, span = x, 1
    places = [p.temporary(shape, wide) for _ in range(min(2, (size - 1).bit_length()))]

    while span < size:
        made = places[span.bit_length() % len(places)]
        p.flat(lambda a: cast(a, wide), [_part(left, 0, span)], [_part(made, 0, span)])
        p.flat(lambda a, b: join(cast(a, wide), cast(b, wide)),
               [_part(left, 0, size - span), _part(left, span, size - span)],
               [_part(made, span, size - span)])
        left, span = made, 2 * span
    p.flat(lambda a: cast(a, dtype), [left], [out])


def _part(ref: Any, begin: int, count: int) -> Any:
    """A range of the innermost dimension."""
    steps = ref.spec.strides
    return ref.seen(((*ref.spec.shape[:-1], count), steps, begin * steps[-1]))


def _cumsum_back(ops: Any, grad: Any, self_spec: Any, dim: int) -> Any:
    if self_spec.ndim == 0:
        return grad
    made = ops.flip(ops.cumsum(ops.flip(grad, (dim,)), dim), (dim,))
    return made if made.dtype is self_spec.dtype else ops.to_dtype(made, self_spec.dtype)


def _cumprod_back(ops: Any, grad: Any, self: Any, result: Any, dim: int) -> Any:
    if bool(ops.any(ops.eq(self, 0))):
        return _cumprod_with_zeros(ops, grad, self, dim)
    return ops.div(_cumsum_back(ops, ops.mul(grad, result), self._spec, dim), self)


def _cumprod_with_zeros(ops: Any, grad: Any, self: Any, dim: int) -> Any:
    """Each row's gradient element by element: exact where a factor is zero."""
    d = wrap_dim(dim, self.dim())
    parts = []
    for k in range(self.shape[d]):
        factors = ops.clone(self)
        ops.copy_(ops.select(factors, d, k), ops.ones_like(ops.select(factors, d, k)))
        later = ops.narrow(ops.mul(grad, ops.cumprod(factors, d)), d, k, self.shape[d] - k)
        parts.append(ops.sum(later, (d,), True))
    return ops.cat(parts, d)


rows("cumsum(Tensor self, int dim, *, dtype? dtype=None) -> Tensor", _running("sum"), out=True,
     inplace=True, takes="bifc", backward={"self": _cumsum_back}, doc="Running sums along dim.")
rows("cumprod(Tensor self, int dim, *, dtype? dtype=None) -> Tensor", _running("prod"), out=True,
     inplace=True, takes="bifc", backward={"self": _cumprod_back},
     doc="Running products along dim.")

# ---- log-sum-exp -----------------------------------------------------------------------------


def _soft_sum(x: Any, y: Any) -> Any:
    """log(e ** x + e ** y); equal infinities give themselves."""
    if is_complex(x):
        return _complex_soft_sum(x, y)
    top, low = maximum(x, y), minimum(x, y)
    same = x.eq(y) & absolute(x).eq(float("inf"))
    return where(same, x, top + log1p(exp(low - top)))


def _complex_soft_sum(x: Any, y: Any) -> Any:
    """From the number of larger real part on, whose phase is kept as it is."""
    swap = real(x) < real(y)
    top, low = where(swap, y, x), where(swap, x, y)
    return where(real(low).eq(float("-inf")), top, top + log1p(exp(low - top)))


def _running_log(p: Any, self: Any, dim: int) -> None:
    """Each pass joins spans twice as long, so that no term is lost beside a larger later one."""
    dtype = self.spec.dtype
    if dtype.category < FLOATING:
        raise NotImplementedError(
            f"\"logcumsumexp_out_cpu\" not implemented for '{p.scalar_name(dtype)}'")
    made = p.result(spec(dtype, self.spec.shape, None, p.device))
    x, _, size = along(p, self, dim)
    out, _, _ = along(p, made, dim)
    if not dtype.is_complex or made.spec.numel == 0:
        _doubling(p, x, out, size, _soft_sum)
        return
    sums = p.temporary(out.spec.shape, compute_dtype(dtype))
    _doubling(p, x, sums, size, _soft_sum)
    _unwind(p, x, sums, out, size)


def _unwind(p: Any, x: Any, sums: Any, out: Any, size: int) -> None:
    """The sums with the phases of a walk from left to right.

    A step keeps the phase of the larger number, the new one or the sum so far, and turns it by no
    more than a quarter. The turns since the last new phase are added up, with a mark (the real
    part) where a new one begins; what this says but for rounding is which multiple of 2 pi is due.
    """
    dtype = sums.spec.dtype
    turns = p.temporary(sums.spec.shape, dtype)

    def turn(new: Any, before: Any) -> Any:
        new = cast(new, dtype)
        fresh = real(new) >= real(before)
        top, low = where(fresh, new, before), where(fresh, before, new)
        turned = imag(log1p(exp(low - top)))
        mark = where(fresh, const(1.0, turned.dtype), const(0.0, turned.dtype))
        return Complex(mark, where(fresh, imag(new) + turned, turned), dtype)

    def join(a: Any, b: Any) -> Any:
        mark = maximum(real(a), real(b))
        return Complex(mark, where(real(b) > 0, imag(b), imag(a) + imag(b)), dtype)

    def settled(total: Any, phase: Any) -> Any:
        wide = imag(phase) - imag(total)
        whole = round_half_even(wide / (2 * math.pi)) * (2 * math.pi)
        finite = absolute(whole) < float("inf")
        return cast(Complex(real(total), where(finite, imag(total) + whole, imag(total)), dtype),
                    out.spec.dtype)

    p.flat(lambda v: Complex(const(1.0, dtype.to_real()), imag(cast(v, dtype)), dtype),
           [_part(x, 0, 1)], [_part(turns, 0, 1)])
    p.flat(turn, [_part(x, 1, size - 1), _part(sums, 0, size - 1)], [_part(turns, 1, size - 1)])
    _doubling(p, turns, turns, size, join)
    p.flat(settled, [sums, turns], [out])


rows("logcumsumexp(Tensor self, int dim) -> Tensor", _running_log, out=True, takes="fc",
     backward={"self": lambda ops, grad, self, result, dim: _log_back(
         ops, grad, self, result, dim)},
     doc="log(cumsum(exp(self))) along dim without overflow.")


def _log_back(ops: Any, grad: Any, self: Any, result: Any, dim: int) -> Any:
    """grad_j e^(x_i - result_j) summed over j >= i, for positive and negative gradients apart."""
    if self.dim() == 0:
        return grad
    if self.dtype.is_complex:
        turned = ops.flip(ops.sub(ops.log(grad), ops.conj(result)), (dim,))
        later = ops.flip(ops.logcumsumexp(turned, dim), (dim,))
        return ops.exp(ops.add(later, ops.conj(self)))

    known = ops.select_where(ops.isneginf(result), 0.0, result)  # a prefix without any term

    def part(sign: float) -> Any:
        signed = ops.mul(grad, sign)
        here = ops.gt(signed, 0)  # elsewhere the logarithm, and its slope, are kept away from
        sized = ops.select_where(here, ops.log(ops.select_where(here, signed, 1.0)),
                                 float("-inf"))
        turned = ops.flip(ops.sub(sized, known), (dim,))
        later = ops.flip(ops.logcumsumexp(turned, dim), (dim,))
        return ops.exp(ops.add(later, self))

    return ops.sub(part(1.0), part(-1.0))
