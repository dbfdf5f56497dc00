"""Variances and standard deviations, alone or with the mean."""

# Names: std std_and_mean std_mean std_moments var var_and_mean var_mean var_moments

from __future__ import annotations

import math
from typing import Any

from ..base.frames import warn
from ..core.dtypes import FLOATING
from ..core.spec import spec
from ..loops.ir import Expr, cast
from ..loops.scalar import fold, sqrt
from .kinds import composite, compute_dtype, reduced_dims, reduced_shape, rows
from .reduction import spread


def _var_program(p: Any, self: Any, dims: tuple[int, ...], correction: Any, root: bool,
                 both: bool) -> None:
    """One pass for the mean, one for the squares of the differences."""
    ndim = self.spec.ndim
    if self.spec.dtype.category < FLOATING:
        raise RuntimeError("std and var only support floating point and complex dtypes")
    keep = [d for d in range(ndim) if d not in dims]
    order = [*keep, *dims]
    moved = self.seen((tuple(self.spec.shape[d] for d in order),
                       tuple(self.spec.strides[d] for d in order), 0))
    x, size = p.joined(moved, len(dims))
    outer = [self.spec.shape[d] for d in keep]
    wide = compute_dtype(self.spec.dtype)
    outs = [p.result(spec(self.spec.dtype, tuple(outer), None, p.device))
            for _ in range(1 + both)]

    def body(load: Expr) -> Any:
        v = cast(load, wide)
        middle = fold("sum", v) / p.fixed(size, wide)
        apart = v - middle
        spreading = fold("sum", apart * apart) / p.fixed(max(0.0, size - correction), wide)
        made = sqrt(spreading) if root else spreading
        return (made, middle) if both else made

    p.rows(body, [x], [o.as_rows() for o in outs], outer, size)


def _var_grad(ops: Any, grads: Any, self: Any, deviation: Any, dims: Any, correction: Any) -> Any:
    """Of the variance, or of the deviation where that is given; and of the mean.

    The mean is computed anew: it would be more to keep, and where it is a result the user may
    write to it.
    """
    shape = tuple(self.shape)
    count = 1
    for d in dims:
        count *= shape[d]
    made = None
    if grads[0] is not None:
        apart = ops.sub(self, ops.mean(self, dims, True))
        grad = grads[0]
        if deviation is not None:
            grad = ops.select_where(ops.eq(deviation, 0), 0.0,
                                    ops.div(grad, ops.mul(deviation, 2)))
        scale = 2.0 / (count - correction) if count > correction else float("nan")
        made = ops.mul(spread(ops, ops.mul(grad, scale), shape, dims, False), apart)
    if len(grads) > 1 and grads[1] is not None:
        rest = spread(ops, ops.div(grads[1], count), shape, dims, False)
        made = rest if made is None else ops.add(made, rest)
    return made


def _declare(name: str, root: bool, both: bool) -> None:
    """`var`, `std` or one of them with the mean, over dimensions that are counted from 0."""
    def slope(ops: Any, grads: Any, self: Any, dims: Any, correction: Any) -> Any:
        return _var_grad(ops, grads, self, None, dims, correction)

    def slope_of_root(ops: Any, grads: Any, self: Any, result0: Any, dims: Any, correction: Any
                      ) -> Any:
        return _var_grad(ops, grads, self, result0, dims, correction)

    rows(f"{name}(Tensor self, any dims, any correction) -> "
         + ("(Tensor, Tensor)" if both else "Tensor"),
         lambda p, self, dims, correction: _var_program(p, self, dims, correction, root, both),
         method=False, node_name=("Std" if root else "Var") + ("Mean" * both) + "Backward0",
         backward={"self": slope_of_root if root else slope},
         samples=lambda make: [(make(3, 4), (1,), 1), (make(3, 4), (0,), 0),
                               (make(2, 3, 4), (0, 2), 1)])


_declare("var_moments", False, False)
_declare("std_moments", True, False)
_declare("var_and_mean", False, True)
_declare("std_and_mean", True, True)


def _warn_of_freedom(name: str, self: Any, dims: tuple[int, ...], correction: Any
                     ) -> None:
    """Warn where there are not more elements to a result than the correction takes away."""
    shape = tuple(self.shape)
    kept = math.prod(n for d, n in enumerate(shape) if d not in dims)
    count = math.prod(shape[d] for d in dims) if shape and kept else int(kept > 0)
    if count <= correction and self.device.type != "meta":
        warn(f"{name}(): degrees of freedom is <= 0. Correction should be strictly less than the "
             "reduction factor (input numel divided by output numel).")


def _moments(ops: Any, name: str, self: Any, dim: Any, unbiased: Any, correction: Any,
             keepdim: bool) -> tuple[Any, ...]:
    """What `name` says: the deviation or variance; and the mean, if the caller gives it out."""
    if isinstance(dim, bool):  # var(x, unbiased)
        dim, unbiased = None, dim
    dims = reduced_dims(dim, self.dim()) if self.dim() else ()
    amount = correction if correction is not None else \
        (0 if unbiased is False else 1)
    _warn_of_freedom(name, self, dims, amount)
    if self.dtype.is_complex:
        return _complex_moments(ops, name, self, dims, amount, keepdim)
    return _real_moments(ops, name, self, dims, amount, keepdim)


def _real_moments(ops: Any, name: str, self: Any, dims: tuple[int, ...], correction: Any,
                  keepdim: bool) -> tuple[Any, ...]:
    ndim = self.dim()
    single, _, both = name.partition("_")
    function = getattr(ops, single + ("_and_mean" if both else "_moments"))
    made = function(self if ndim else ops.reshape(self, (1,)), dims if ndim else (0,), correction)
    found = made if both else (made,)
    if keepdim and ndim:
        shape = reduced_shape(tuple(self.shape), dims, True)
        return tuple(ops.reshape(one, shape) for one in found)
    return tuple(found)


def _complex_moments(ops: Any, name: str, self: Any, dims: tuple[int, ...], correction: Any,
                     keepdim: bool) -> tuple[Any, ...]:
    """The variances of both parts add up."""
    root = name.startswith("std")
    parts = name.replace("std", "var")
    re, im = (_real_moments(ops, parts, part, dims, correction, keepdim)
              for part in (ops.real(self), ops.imag(self)))
    values = ops.add(re[0], im[0])
    return (ops.sqrt(values) if root else values,
            *(ops.complex(a, b) for a, b in zip(re[1:], im[1:], strict=True)))


for _name in ("var", "std"):
    composite(f"{_name}(Tensor self, int[1]|bool? dim=None, bool? unbiased=None, "
              f"bool keepdim=False, *, "
              "number? correction=None) -> Tensor",
              lambda ops, self, dim, unbiased, keepdim, correction, name=_name: _moments(
                  ops, name, self, dim, unbiased, correction, keepdim)[0], out=True,
              doc="With Bessel's correction by default (correction=1).")
    composite(f"{_name}_mean(Tensor self, int[1]|bool? dim=None, bool? unbiased=None, "
              "bool keepdim=False, *, number? correction=None) -> (Tensor, Tensor)",
              lambda ops, self, dim, unbiased, keepdim, correction, name=f"{_name}_mean":
              _moments(ops, name, self, dim, unbiased, correction, keepdim), method=False,
              doc=f"The {_name} and the mean.")
