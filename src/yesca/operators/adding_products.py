"""Products that add to a tensor: addmm, addmv, addbmm, baddbmm, addr; outer products."""

from __future__ import annotations

from typing import Any

from ..core.dtypes import SCALAR_NAMES, bool_
from ..core.memory_formats import pointwise
from ..core.spec import spec
from ..loops.ir import Expr, cast, const
from .filling import does_not_fit
from .kinds import composite, compute_dtype, rows
from .products import (
    above, check_batches, column, fits, reduced, refuse_bool, spoken, stretched, three_dtypes,
    turned,
)

def _added(p: Any, self: Any, a: Any, b: Any, shape: tuple[int, ...], beta: Any,
           upright: bool = False) -> None:
    """result = beta * self + alpha * a @ b; alpha is the record's argument 4.

    If beta is 0, self is not read: its NaN do not come through.
    """
    start = stretched(self, shape)
    out = p.result(spec(a.spec.dtype, shape, None, p.device))
    if upright:
        out, start = column(out), column(start)
    p.product(a, b, out, initial=start if beta != 0 else None, alpha=p.factor(4), beta=beta)


def _addmm(p: Any, self: Any, mat1: Any, mat2: Any, beta: Any, alpha: Any) -> None:
    for ref, name in ((mat1, "mat1"), (mat2, "mat2")):
        if ref.spec.ndim != 2:
            raise RuntimeError(f"{name} must be a matrix, got {ref.spec.ndim}-D tensor")
    fits(mat1, mat2)
    if mat1.spec.dtype is not mat2.spec.dtype:
        raise RuntimeError("self and mat2 must have the same dtype, but got "
                           f"{SCALAR_NAMES[mat1.spec.dtype]} and {SCALAR_NAMES[mat2.spec.dtype]}")
    if self.spec.dtype is not mat2.spec.dtype:
        raise RuntimeError("self and mat2 must have the same dtype, but got "
                           f"{SCALAR_NAMES[self.spec.dtype]} and {SCALAR_NAMES[mat2.spec.dtype]}")
    refuse_bool(mat1, "addmm_impl_cpu_")
    _added(p, self, mat1, mat2, (mat1.spec.shape[0], mat2.spec.shape[1]), beta)


def _addmv(p: Any, self: Any, mat: Any, vec: Any, beta: Any, alpha: Any) -> None:
    if mat.spec.ndim != 2 or vec.spec.ndim != 1 or self.spec.ndim > 1:
        raise RuntimeError(f"vector + matrix @ vector expected, got {self.spec.ndim}, "
                           f"{mat.spec.ndim}, {vec.spec.ndim}")
    m, k = mat.spec.shape
    if k != vec.spec.shape[0] or self.spec.numel not in (1, m):
        raise RuntimeError(f"size mismatch, got input ({self.spec.numel}), mat ({m}x{k}), vec "
                           f"({vec.spec.shape[0]})")
    if not self.spec.dtype is mat.spec.dtype is vec.spec.dtype:
        raise RuntimeError("addmv input tensors must have the same dtype, but got "
                           f"{three_dtypes(self, mat, vec)}")
    refuse_bool(mat, "addmv_impl_cpu")
    _added(p, self, mat, column(vec), (m,), beta, upright=True)


def _baddbmm(p: Any, self: Any, batch1: Any, batch2: Any, beta: Any, alpha: Any) -> None:
    shape = _added_batches(self, batch1, batch2)
    _added(p, self, batch1, batch2, shape, beta)


def _addbmm(p: Any, self: Any, batch1: Any, batch2: Any, beta: Any, alpha: Any) -> None:
    """The sum over the batch is one product, whose inner dimension runs through the batch too."""
    shape = _added_batches(self, batch1, batch2)
    b, m, k = batch1.spec.shape
    first, second, third = batch1.spec.strides
    a = p.joined(batch1.seen(((m, b, k), (second, first, third), 0)), 2)[0]
    first, second, third = batch2.spec.strides
    other = p.joined(batch2.seen(((shape[2], b, k), (third, first, second), 0)), 2)[0]
    _added(p, self, a, turned(other), shape[1:], beta)


def _added_batches(self: Any, batch1: Any, batch2: Any) -> tuple[int, ...]:
    if self.spec.dtype is not batch1.spec.dtype or batch1.spec.dtype is not batch2.spec.dtype:
        raise RuntimeError(
            "Input dtypes must be the same, got: input "
            f"{spoken(self)}, batch1: {spoken(batch1)}, batch2: {spoken(batch2)}")
    check_batches(batch1, batch2, added=True)
    if batch1.spec.dtype is bool_:
        raise NotImplementedError(f"\"baddbmm\" not implemented for '{SCALAR_NAMES[bool_]}'")
    return batch1.spec.shape[0], batch1.spec.shape[1], batch2.spec.shape[2]


def _start_back(ops: Any, grad: Any, self_spec: Any, beta: Any) -> Any:
    return reduced(ops, grad if beta == 1 else ops.mul(grad, beta), self_spec)


def _vector_back(ops: Any, grad: Any, mat: Any, alpha: Any) -> Any:
    made = ops.matrix_product(mat, ops.unsqueeze(grad, -1), True, False, alpha)
    return ops.squeeze(made, -1)


rows("addmm(Tensor self, Tensor mat1, Tensor mat2, *, number beta=1, Scalar alpha=1) -> Tensor",
     _addmm, kind="contraction", inplace=True, out=True, autocast="lower",
     backward={"self": _start_back,
               "mat1": lambda ops, grad, mat2, alpha: ops.matrix_product(
                   grad, mat2, False, True, alpha),
               "mat2": lambda ops, grad, mat1, alpha: ops.matrix_product(
                   mat1, grad, True, False, alpha)},
     doc="beta * self + alpha * mat1 @ mat2; self broadcasts.")
rows("addmv(Tensor self, Tensor mat, Tensor vec, *, number beta=1, Scalar alpha=1) -> Tensor",
     _addmv, kind="contraction", inplace=True, out=True,
     backward={"self": _start_back,
               "mat": lambda ops, grad, vec, alpha: ops.mul(
                   ops.unsqueeze(grad, -1), vec if alpha == 1 else ops.mul(vec, alpha)),
               "vec": _vector_back},
     doc="beta * self + alpha * mat @ vec.")
rows("baddbmm(Tensor self, Tensor batch1, Tensor batch2, *, number beta=1, "
     "Scalar alpha=1) -> Tensor",
     _baddbmm, kind="contraction", inplace=True, out=True, autocast="lower",
     backward={"self": _start_back,
               "batch1": lambda ops, grad, batch2, alpha: ops.matrix_product(
                   grad, batch2, False, True, alpha),
               "batch2": lambda ops, grad, batch1, alpha: ops.matrix_product(
                   batch1, grad, True, False, alpha)},
     doc="beta * self + alpha * batch1 @ batch2, matrix by matrix.")
rows("addbmm(Tensor self, Tensor batch1, Tensor batch2, *, number beta=1, "
     "Scalar alpha=1) -> Tensor",
     _addbmm, kind="contraction", inplace=True, out=True, autocast="lower",
     backward={"self": _start_back,
               "batch1": lambda ops, grad, batch2, alpha: ops.matrix_product(
                   grad, batch2, False, True, alpha),
               "batch2": lambda ops, grad, batch1, alpha: ops.matrix_product(
                   batch1, grad, True, False, alpha)},
     doc="beta * self + alpha * the sum of the batch's products.")


# ---- outer products --------------------------------------------------------------------------

def _outer(ops: Any, self: Any, vec2: Any) -> Any:
    for value, name in ((self, "self"), (vec2, "vec2")):
        if value.dim() != 1:
            raise RuntimeError(f"outer: Expected 1-D argument {name}, but got {value.dim()}-D")
    return ops.mul(ops.unsqueeze(self, -1), vec2)


composite("outer(Tensor self, Tensor vec2) -> Tensor", _outer, out=True, aliases=("ger",),
          doc="(m,), (n,) give (m, n): all products.")


def _addr(p: Any, self: Any, vec1: Any, vec2: Any, beta: Any, alpha: Any) -> None:
    """beta * self + alpha * vec1 * vec2; if beta is 0, self is not read."""
    for ref, name in ((vec1, "vec1"), (vec2, "vec2")):
        if ref.spec.ndim != 1:
            raise RuntimeError(f"addr: Expected 1-D argument {name}, but got {ref.spec.ndim}-D")
    dtype = p.promote([self, vec1, vec2], [])
    for number, name in ((beta, "beta"), (alpha, "alpha")):
        if isinstance(number, bool) and dtype is not bool_:
            raise RuntimeError(f"Boolean {name} only supported for Boolean results.")
        if isinstance(number, complex) and not dtype.is_complex:
            raise does_not_fit(dtype)
    shape = (vec1.spec.shape[0], vec2.spec.shape[0])
    start = stretched(self, shape)
    wide = compute_dtype(dtype)

    def body(a: Expr, b: Expr, *rest: Expr) -> Expr:
        made = cast(a, wide) * cast(b, wide) if wide is not bool_ else \
            cast(a, wide) & cast(b, wide)
        made = _scaled(p, made, alpha)
        for x in rest:
            x = _scaled(p, cast(x, wide), beta)
            made = x | made if wide is bool_ else x + made
        return made

    outer = [column(vec1), above(vec2)]
    strides = pointwise([r.spec for r in (start, *outer)], shape)
    out = p.result(spec(dtype, shape, strides, p.device))
    p.flat(body, [*outer, *([start] if beta != 0 else [])], [out])


def _scaled(p: Any, x: Expr, factor: Any) -> Expr:
    if x.dtype is bool_:
        return x if factor else const(False, bool_)
    return x if factor == 1 else x * p.fixed(factor, x.dtype)


def _addr_vector(ops: Any, matrix: Any, vector: Any, alpha: Any) -> Any:
    made = ops.mv(matrix, vector)
    return made if alpha == 1 else ops.mul(made, alpha)


rows("addr(Tensor self, Tensor vec1, Tensor vec2, *, number beta=1, "
     "number alpha=1) -> Tensor", _addr,
     inplace=True, out=True, takes="bifc",
     backward={"self": _start_back,
               "vec1": lambda ops, grad, vec2, alpha: _addr_vector(ops, grad, vec2, alpha),
               "vec2": lambda ops, grad, vec1, alpha: _addr_vector(
                   ops, ops.t(grad), vec1, alpha)},
     doc="beta * self + alpha * outer(vec1, vec2).")
