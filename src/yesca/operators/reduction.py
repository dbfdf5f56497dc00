"""Reductions over dimensions, arg-reductions, log-sum-exp."""

# Names: argmax argmax_dim argmin argmin_dim max_dim min_dim

from __future__ import annotations

import operator
from typing import Any

from ..core.dtypes import BOOL, FLOATING, bool_, float32, float64, int64, uint64
from ..core.spec import Spec, spec
from ..core.views import Strided, movedim, wrap_dim
from ..loops import ir
from ..loops.ir import Expr, cast
from ..loops.scalar import absolute, as_bool, exp, fold, log, where
from . import limited
from .kinds import (
    composite, compute_dtype, halved, reduced_dims, reduced_shape, reduction, rows, view,
)


def _spread(base: Spec, shape: tuple[int, ...], dim: Any, keepdim: bool) -> Strided:
    """The reduced dimensions put back with stride 0."""
    dims = reduced_dims(dim, len(shape)) if shape else ()
    if keepdim or not dims:
        steps = iter(base.strides)
        return shape, tuple(0 if d in dims else step
                            for d, step in zip(range(len(shape)), steps, strict=False)), 0
    kept = iter(base.strides)
    return shape, tuple(0 if d in dims else next(kept) for d in range(len(shape))), 0


view("spread(Tensor self, any shape, any dim, bool keepdim) -> Tensor", _spread, method=False,
     backward={"self": lambda ops, grad, dim, keepdim: ops.sum(grad, dim, keepdim)
               if grad.dim() else grad},
     node_name="ExpandBackward0",
     doc="A reduction's result stretched back over the reduced dimensions.")


def spread(ops: Any, value: Any, shape: tuple[int, ...], dim: Any, keepdim: bool) -> Any:
    """A reduction's result (or its gradient) stretched back over the reduced dimensions."""
    return ops.spread(value, shape, dim, keepdim)


def _by_dim(name: str) -> Any:
    """PyTorch's node of a reduction: one over all dimensions, another over some."""
    return lambda plan: f"{name}Backward{int(plan.values[1] is not None)}"


def _sum_back(ops: Any, grad: Any, self_spec: Any, dim: Any, keepdim: bool) -> Any:
    made = ops.spread(grad, self_spec.shape, dim, keepdim)
    return made if made.dtype is self_spec.dtype else ops.to_dtype(made, self_spec.dtype)


sum_ = reduction("sum(Tensor self, int[1]? dim=None, bool keepdim=False, *, dtype? dtype=None) -> "
                 "Tensor", "sum", dtype="sum", takes="bifc", backward={"self": _sum_back},
                 node_name=_by_dim("Sum"),
                 doc="The sum over dim (all dimensions by default).")


def _mean_back(ops: Any, grad: Any, self_spec: Any, dim: Any, keepdim: bool) -> Any:
    count = 1
    for d in reduced_dims(dim, self_spec.ndim) if self_spec.ndim else ():
        count *= self_spec.shape[d]
    return _sum_back(ops, ops.div(grad, max(count, 1)), self_spec, dim, keepdim)


mean = reduction("mean(Tensor self, int[1]? dim=None, bool keepdim=False, *, dtype? dtype=None) -> "
                 "Tensor", "sum", final=lambda total, count: total / count, dtype="float",
                 takes="bifc", backward={"self": _mean_back}, node_name=_by_dim("Mean"),
                 doc="The mean over dim.")
amax = reduction("amax(Tensor self, int[1]? dim=[], bool keepdim=False) -> Tensor", "max",
                 dtype="same", backward={"self": lambda ops, grad, self, result, dim, keepdim:
                                         _shared(ops, grad, self, result, dim, keepdim)},
                 doc="The largest value over dim; equal ones share the gradient.")
amin = reduction("amin(Tensor self, int[1]? dim=[], bool keepdim=False) -> Tensor", "min",
                 dtype="same", backward={"self": lambda ops, grad, self, result, dim, keepdim:
                                         _shared(ops, grad, self, result, dim, keepdim)},
                 doc="The smallest value over dim; equal ones share the gradient.")


def shared_by_all(ops: Any, grad: Any, self: Any, result: Any) -> Any:
    """A NaN that is the extreme gets the gradient as any other value does."""
    mask = ops.eq(self, result)
    if self.dtype.is_floating_point:
        mask = ops.logical_or(mask, ops.logical_and(ops.isnan(self), ops.isnan(result)))
    return ops.select_where(mask, ops.div(grad, ops.sum(mask)), 0.0)


def _shared(ops: Any, grad: Any, self: Any, result: Any, dim: Any, keepdim: bool) -> Any:
    shape = tuple(self.shape)
    mask = ops.eq(self, spread(ops, result, shape, dim, keepdim))
    dims = reduced_dims(dim, len(shape)) if shape else ()
    count = ops.sum(mask, dims, True) if dims else ops.to_dtype(mask, int64)
    return ops.div(ops.mul(spread(ops, grad, shape, dim, keepdim), mask), count)


_all_values = reduction("max_all(Tensor self) -> Tensor", "max", dtype="same", kernel="max_all",
                        method=False, node_name="MaxBackward1",
                        backward={"self": lambda ops, grad, self, result:
                                  shared_by_all(ops, grad, self, result)})
_all_least = reduction("min_all(Tensor self) -> Tensor", "min", dtype="same", kernel="min_all",
                       method=False, node_name="MinBackward1",
                       backward={"self": lambda ops, grad, self, result:
                                 shared_by_all(ops, grad, self, result)})
any_ = reduction("any(Tensor self, int[1]? dim=None, bool keepdim=False) -> Tensor", "any",
                 before=lambda x: as_bool(x), dtype="bool", takes="bifc",
                 doc="Whether any is true.")
all_ = reduction("all(Tensor self, int[1]? dim=None, bool keepdim=False) -> Tensor", "all",
                 before=lambda x: as_bool(x), dtype="bool", takes="bifc",
                 doc="Whether all are true.")


def _prod_back(ops: Any, grad: Any, self: Any, result: Any, dim: Any, keepdim: bool) -> Any:
    shape = tuple(self.shape)
    if not shape:
        return grad
    whole = spread(ops, ops.mul(grad, result), shape, dim, keepdim)
    zeros = ops.eq(self, 0)
    if not bool(ops.any(zeros)):
        return ops.div(whole, self)
    return _prod_with_zeros(ops, grad, self, dim, keepdim)


def _prod_with_zeros(ops: Any, grad: Any, self: Any, dim: Any, keepdim: bool) -> Any:
    """Products of all other elements, from running products of both sides."""
    shape = tuple(self.shape)
    if dim is None:
        flat, d = ops.reshape(self, (-1,)), 0
        grad = ops.reshape(grad, (1,))
    else:
        d = wrap_dim(dim, len(shape))
        flat = self
        grad = grad if keepdim else ops.unsqueeze(grad, d)
    size = flat.shape[d]
    one = ops.ones_like(ops.narrow(flat, d, 0, 1))
    before = ops.cumprod(ops.cat([one, ops.narrow(flat, d, 0, size - 1)], d), d)
    turned = ops.flip(ops.narrow(flat, d, 1, size - 1), (d,))
    after = ops.flip(ops.cumprod(ops.cat([one, turned], d), d), (d,))
    return ops.reshape(ops.mul(grad, ops.mul(before, after)), shape)


prod = reduction("prod(Tensor self, int? dim=None, bool keepdim=False, *, dtype? dtype=None) -> "
                 "Tensor", "prod", dtype="sum", takes="bifc", backward={"self": _prod_back},
                 node_name=_by_dim("Prod"), autocast="float32", doc="The product over dim.")


def _count_nonzero(ops: Any, self: Any, dim: Any) -> Any:
    limited.refuse("count_nonzero", (self.dtype,))
    return ops.sum(ops.ne(self, 0), dim)


count_nonzero = composite("count_nonzero(Tensor self, int[1]? dim=None) -> Tensor", _count_nonzero,
                          doc="How many are not zero.")


# ---- one dimension with indices --------------------------------------------------------------

def along(p: Any, self: Any, dim: int) -> tuple[Any, list[int], int]:
    """self with `dim` last, the other sizes, and the size of `dim`."""
    if self.spec.ndim == 0:
        wrap_dim(dim, 0)
        return self.seen(((1,), (1,), 0)), [], 1
    d = wrap_dim(dim, self.spec.ndim)
    moved = self.seen(movedim(self.spec, (d,), (-1,)))
    return moved, list(moved.spec.shape[:-1]), moved.spec.shape[-1]


def _result(p: Any, dtype: Any, self: Any, dim: int, keepdim: bool) -> tuple[Any, Any]:
    """A result of a reduction over `dim`, and the same seen row by row."""
    shape = tuple(self.spec.shape)
    d = wrap_dim(dim, len(shape)) if shape else 0
    made = p.result(spec(dtype, reduced_shape(shape, (d,) if shape else (), keepdim), None,
                         p.device))
    outer = reduced_shape(shape, (d,) if shape else (), False)
    plain = spec(dtype, outer, None, p.device)
    return made, made.seen((outer, plain.strides, 0)).as_rows()


def _extreme(kind: str) -> Any:
    def program(p: Any, self: Any, dim: int, keepdim: bool) -> None:
        x, outer, size = along(p, self, dim)
        if size == 0:
            raise IndexError(f"{kind}(): Expected reduction dim {dim} to have non-zero size.")
        _, values = _result(p, self.spec.dtype, self, dim, keepdim)
        _, indices = _result(p, int64, self, dim, keepdim)
        wide = compute_dtype(self.spec.dtype)
        p.rows(lambda v: (fold(kind, cast(v, wide)), fold("arg" + kind, cast(v, wide))),
               [x], [values, indices], outer, size)
    return program


def _put_back(ops: Any, grad: Any, indices: Any, self_spec: Any, dim: int, keepdim: bool) -> Any:
    shape = tuple(self_spec.shape)
    if not shape:
        return grad
    d = wrap_dim(dim, len(shape))
    if not keepdim:
        grad, indices = ops.unsqueeze(grad, d), ops.unsqueeze(indices, d)
    zeros = ops.zeros(shape, dtype=grad.dtype, device=grad.device)
    return ops.scatter(zeros, d, indices, grad)


for _kind in ("max", "min"):
    rows(f"{_kind}_dim(Tensor self, int dim, bool keepdim=False) -> (Tensor, Tensor)",
         _extreme(_kind), method=False, node_name=f"{_kind.capitalize()}Backward0",
         backward={"self": lambda ops, grad, result1, self_spec, dim, keepdim:
                   _put_back(ops, grad, result1, self_spec, dim, keepdim)})


def _arg(kind: str) -> Any:
    def program(p: Any, self: Any, dim: int, keepdim: bool) -> None:
        x, outer, size = along(p, self, dim)
        if size == 0:
            raise IndexError(f"arg{kind}(): Expected reduction dim {dim} to have non-zero size.")
        if self.spec.dtype is bool_:
            raise RuntimeError(f'"arg{kind}_cpu" not implemented for \'Bool\'')
        _, indices = _result(p, int64, self, dim, keepdim)
        wide = compute_dtype(self.spec.dtype)
        p.rows(lambda v: fold(f"arg{kind}", cast(v, wide)), [x], [indices], outer, size)
    return program


def _arg_public(kind: str) -> Any:
    def body(ops: Any, self: Any, dim: int | None, keepdim: bool) -> Any:
        function = getattr(ops, f"arg{kind}_dim")
        if dim is not None:
            return function(self, dim, keepdim)
        if self.numel() == 0:
            raise IndexError(f"arg{kind}(): Expected reduction dim to be specified for "
                             "input.numel() == 0. Specify the reduction dim with the 'dim' "
                             "argument.")
        made = function(ops.reshape(self, (-1,)), 0, False)
        return ops.reshape(made, (1,) * self.dim()) if keepdim else made
    return body


for _kind in ("max", "min"):
    rows(f"arg{_kind}_dim(Tensor self, int dim, bool keepdim=False) -> Tensor", _arg(_kind),
         method=False)
    composite(f"arg{_kind}(Tensor self, int? dim=None, bool keepdim=False) -> Tensor",
              _arg_public(_kind), out=True,
              doc=f"The index of the {_kind}imum; the first of equal ones.")


# ---- log-sum-exp -----------------------------------------------------------------------------

def _logsumexp(p: Any, self: Any, dims: tuple[int, ...], keepdim: bool) -> None:
    if self.spec.dtype.category < FLOATING:
        raise RuntimeError("logsumexp(): Expected floating point type for result tensor, but got: "
                           f"{p.scalar_name(self.spec.dtype)}")
    ndim = self.spec.ndim
    keep = [d for d in range(ndim) if d not in dims]
    order = [*keep, *dims]
    moved = self.seen((tuple(self.spec.shape[d] for d in order),
                       tuple(self.spec.strides[d] for d in order), 0))
    x, size = p.joined(moved, len(dims))
    outer = [self.spec.shape[d] for d in keep]
    shape = reduced_shape(tuple(self.spec.shape), dims, keepdim)
    out = p.result(spec(self.spec.dtype, shape, None, p.device))
    goal = out.seen((tuple(outer), spec(self.spec.dtype, tuple(outer)).strides, 0))
    wide = compute_dtype(self.spec.dtype)

    def body(load: Expr) -> Expr:
        v = cast(load, wide)
        top = fold("max", v)
        safe = where(absolute(top).eq(float("inf")), ir.const(0, wide), top)
        return log(fold("sum", exp(v - safe))) + safe

    p.rows(body, [x], [goal.as_rows()], outer, size)


rows("logsumexp_dims(Tensor self, any dims, bool keepdim=False) -> Tensor", _logsumexp,
     method=False,
     samples=lambda make: [(make(3, 4), (1,)), (make(2, 3, 4), (0, 2))],
     node_name="LogsumexpBackward0",
     backward={"self": lambda ops, grad, self, result, dims, keepdim: ops.mul(
         spread(ops, grad, tuple(self.shape), dims, keepdim),
         ops.exp(ops.sub(self, spread(ops, ops.select_where(ops.isneginf(result), 0.0, result),
                                      tuple(self.shape), dims, keepdim))))})


def _complex_logsumexp(ops: Any, self: Any, dim: Any, keepdim: bool) -> Any:
    """The real parts say how much is taken out of the exponentials."""
    top = ops.amax(ops.real(self).detach(), () if dim is None else dim, True)
    top = ops.select_where(ops.isinf(top), 0.0, top)
    made = ops.add(ops.log(ops.sum(ops.exp(ops.sub(self, top)), dim, True)), top)
    if keepdim or not self.dim():
        return made
    return ops.reshape(made, reduced_shape(tuple(self.shape), reduced_dims(dim, self.dim()), False))


def _logsumexp_public(ops: Any, self: Any, dim: Any, keepdim: bool) -> Any:
    if self.dtype.is_complex:
        return _complex_logsumexp(ops, self, dim, keepdim)
    if not self.dtype.is_floating_point:
        self = ops.to_dtype(self, float32)
    if self.dim() == 0:
        reduced_dims(dim, 0)
        return ops.logsumexp_dims(self, ())
    return ops.logsumexp_dims(self, reduced_dims(dim, self.dim()), keepdim)


composite("logsumexp(Tensor self, int[1] dim, bool keepdim=False) -> Tensor", _logsumexp_public,
          out=True,
          samples=lambda make: [(make(3, 4), 1), (make(3, 4), (0, 1), True), (make(), 0)],
          doc="log(sum(exp(self))) without overflow.")

__all__ = ["BOOL", "along", "spread"]


# ---- hashes ----------------------------------------------------------------------------------

def _bits(x: Expr) -> Expr:
    """A number widened to 64 bits, as they are."""
    return ir.bitcast(cast(x, float64), int64) if x.dtype.category == FLOATING else cast(x, int64)


def _hash(p: Any, self: Any, dim: Any, keepdim: bool, mode: int) -> None:
    base = self.spec
    if mode != 0:
        raise RuntimeError(f"Unknown hash_tensor mode: {mode}")
    if base.dtype.is_complex:
        raise p.record.lacks(p.scalar_name(base.dtype))
    dims = reduced_dims(dim, base.ndim or 1)
    dims = dims if base.ndim else ()  # a number admits 0 and -1
    if 0 in [base.shape[d] for d in dims]:
        if dim in (None, ()):
            raise RuntimeError("hash_tensor: Expected reduction dim to be specified for "
                               "input.numel() == 0. Specify the reduction dim with the 'dim' "
                               "argument.")
        empty = next(d for d in dims if base.shape[d] == 0)
        raise IndexError(f"hash_tensor: Expected reduction dim {empty} to have non-zero size.")
    out = p.result(spec(uint64, reduced_shape(base.shape, dims, keepdim), None, p.device))
    wide = p.temporary(base.shape, int64)
    p.flat(_bits, [self], [wide])
    halved(p, wide, dims, out, int64, operator.xor, 0)


rows("hash_tensor(Tensor self, int[1]? dim=None, *, bool keepdim=False, int mode=0) -> Tensor",
     _hash, kind="reduce", out=True, takes="bifc", kernel="xor_sum_cpu",
     samples=lambda make: [(make(3, 4),), (make(2, 3, 4), (0, 2), True), (make(5), 0), (make(),)],
     doc="The bits of the elements, as 64-bit numbers, xored over dim (all dimensions by default).")
