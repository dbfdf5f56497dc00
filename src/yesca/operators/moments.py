"""Variances, standard deviations, and means and sums that leave NaN out."""

# Names: std std_mean var var_mean

from __future__ import annotations

from typing import Any

from ..core.dtypes import FLOATING
from ..core.spec import spec
from ..loops.ir import Expr, cast
from ..loops.scalar import fold, sqrt
from .kinds import composite, compute_dtype, reduced_dims, reduced_shape, rows
from .reduction import spread


def _var_program(p: Any, self: Any, dims: tuple[int, ...], correction: Any, root: bool) -> None:
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
    outs = [p.result(spec(self.spec.dtype, tuple(outer), None, p.device)) for _ in range(2)]

    def body(load: Expr) -> tuple[Expr, Expr]:
        v = cast(load, wide)
        middle = fold("sum", v) / p.fixed(size, wide)
        apart = v - middle
        spreading = fold("sum", apart * apart) / p.fixed(max(0.0, size - correction), wide)
        return (sqrt(spreading) if root else spreading), middle

    p.rows(body, [x], [o.as_rows() for o in outs], outer, size)


def _var_grad(ops: Any, grads: Any, self: Any, deviation: Any, middle: Any, dims: Any,
              correction: Any) -> Any:
    """Of the variance, or of the deviation where that is given; and of the mean."""
    shape = tuple(self.shape)
    count = 1
    for d in dims:
        count *= shape[d]
    made = None
    if grads[0] is not None:
        apart = ops.sub(self, spread(ops, middle, shape, dims, False))
        grad = grads[0]
        if deviation is not None:
            grad = ops.select_where(ops.eq(deviation, 0), 0.0,
                                    ops.div(grad, ops.mul(deviation, 2)))
        scale = 2.0 / (count - correction) if count > correction else float("nan")
        made = ops.mul(spread(ops, ops.mul(grad, scale), shape, dims, False), apart)
    if grads[1] is not None:
        rest = spread(ops, ops.div(grads[1], count), shape, dims, False)
        made = rest if made is None else ops.add(made, rest)
    return made


_SAMPLES = {"samples": lambda make: [(make(3, 4), (1,), 1), (make(3, 4), (0,), 0),
                                     (make(2, 3, 4), (0, 2), 1)]}
rows("var_moments(Tensor self, any dims, any correction) -> (Tensor, Tensor)",
     lambda p, self, dims, correction: _var_program(p, self, dims, correction, False),
     method=False, node_name="VarBackward0", **_SAMPLES,
     backward={"self": lambda ops, grads, self, result1, dims, correction: _var_grad(
         ops, grads, self, None, result1, dims, correction)})
rows("std_moments(Tensor self, any dims, any correction) -> (Tensor, Tensor)",
     lambda p, self, dims, correction: _var_program(p, self, dims, correction, True),
     method=False, node_name="StdBackward0", **_SAMPLES,
     backward={"self": lambda ops, grads, self, result0, result1, dims, correction: _var_grad(
         ops, grads, self, result0, result1, dims, correction)})
# Where the mean is a result that the user has, it may be written to: it is computed anew.
rows("var_and_mean(Tensor self, any dims, any correction) -> (Tensor, Tensor)",
     lambda p, self, dims, correction: _var_program(p, self, dims, correction, False),
     method=False, node_name="VarMeanBackward0", **_SAMPLES,
     backward={"self": lambda ops, grads, self, dims, correction: _var_grad(
         ops, grads, self, None, ops.mean(self, dims), dims, correction)})
rows("std_and_mean(Tensor self, any dims, any correction) -> (Tensor, Tensor)",
     lambda p, self, dims, correction: _var_program(p, self, dims, correction, True),
     method=False, node_name="StdMeanBackward0", **_SAMPLES,
     backward={"self": lambda ops, grads, self, result0, dims, correction: _var_grad(
         ops, grads, self, result0, ops.mean(self, dims), dims, correction)})


def _moments(ops: Any, self: Any, dim: Any, unbiased: Any, correction: Any, keepdim: bool,
             root: bool, both: bool = True) -> tuple[Any, Any]:
    """The deviation or variance, and the mean; `both`: the caller gives the mean to the user."""
    if isinstance(dim, bool):  # var(x, unbiased)
        dim, unbiased = None, dim
    ndim = self.dim()
    dims = reduced_dims(dim, ndim) if ndim else ()
    amount = correction if correction is not None else \
        (0 if unbiased is False else 1)
    if self.dtype.is_complex:
        return _complex_moments(ops, self, dim, amount, keepdim, root)
    function = getattr(ops, ("std" if root else "var") + ("_and_mean" if both else "_moments"))
    values, middle = function(self if ndim else ops.reshape(self, (1,)), dims if ndim else (0,),
                              amount)
    if keepdim and ndim:
        shape = reduced_shape(tuple(self.shape), dims, True)
        values, middle = ops.reshape(values, shape), ops.reshape(middle, shape)
    return values, middle


def _complex_moments(ops: Any, self: Any, dim: Any, correction: Any, keepdim: bool, root: bool
                     ) -> tuple[Any, Any]:
    """The variances of both parts add up."""
    re, im = (_moments(ops, part, dim, None, correction, keepdim, False)
              for part in (ops.real(self), ops.imag(self)))
    values = ops.add(re[0], im[0])
    return ops.sqrt(values) if root else values, ops.complex(re[1], im[1])


for _name, _root in (("var", False), ("std", True)):
    composite(f"{_name}(Tensor self, any? dim=None, any? unbiased=None, bool keepdim=False, *, "
              "any? correction=None) -> Tensor",
              lambda ops, self, dim, unbiased, keepdim, correction, root=_root: _moments(
                  ops, self, dim, unbiased, correction, keepdim, root, False)[0], out=True,
              doc="With Bessel's correction by default (correction=1).")
    composite(f"{_name}_mean(Tensor self, any? dim=None, any? unbiased=None, "
              "bool keepdim=False, *, any? correction=None) -> (Tensor, Tensor)",
              lambda ops, self, dim, unbiased, keepdim, correction, root=_root: _moments(
                  ops, self, dim, unbiased, correction, keepdim, root), method=False,
              doc=f"The {_name} and the mean.")
