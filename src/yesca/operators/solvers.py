"""Linear equations, inverses and least squares.

Derivatives: Giles (Collected matrix derivative results, 2008); the pseudo-inverse after Golub and
Pereyra (The differentiation of pseudo-inverses, 1973). g stands for the gradient of what follows.
"""

from __future__ import annotations

import math
from typing import Any

from ..core.dtypes import FLOATING, SCALAR_NAMES, int32, int64
from ..core.numeric_limits import finfo
from ..core.memory_formats import columns_first
from ..core.spec import spec
from ..core.views import broadcast_shapes
from .factorisations import library, matrices, real_of, results
from .kinds import composite
from .matrices import (
    Seen, by_columns, check_floating, check_kernel, check_matrix, check_precision, check_square,
    h, raise_where, real_part, t,
)


def _batch(a: Any, b: Any) -> tuple[int, ...]:
    return tuple(broadcast_shapes(a.spec.shape[:-2], b.spec.shape[:-2]))


def _fit(ops: Any, grad: Any, wanted: Any) -> Any:
    """A gradient summed over the batch dimensions that were broadcast."""
    return ops.sum_to_size(grad, tuple(wanted.shape))


# ---- A X = B -----------------------------------------------------------------------------------

def _solve(p: Any, A: Any, B: Any, vectors: bool) -> None:
    """`vectors`: B has one column, which the caller drops; the rest lies columns first."""
    shape = (*_batch(A, B), *B.spec.shape[-2:])
    strides = (*columns_first(shape[:-1]), 1) if vectors and len(shape) > 2 else \
        columns_first(shape)
    made = p.result(spec(A.spec.dtype, shape, strides, p.device))
    info = p.result(spec(int32, tuple(A.spec.shape[:-2]), None, p.device))
    p.host("solve", [A, B, made, info])


def _solve_back(ops: Any, grads: Any, A: Any, result0: Any, A_spec: Any, B_spec: Any) -> Any:
    """gB = A^-H gX, gA = -gB X^H."""
    right = ops.linalg_solve_parts(h(ops, A), grads[0])[0]
    left = ops.neg(ops.matmul(right, h(ops, result0)))
    return _fit(ops, left, A_spec), _fit(ops, right, B_spec)


library("linalg_solve_parts(Tensor A, Tensor B, bool vectors=False) -> (Tensor, Tensor)", _solve,
        carriers=1, node_name="LinalgSolveExBackward0", backward={("A", "B"): _solve_back})


def _same_dtype(name: str, A: Any, B: Any, first: str = "A") -> None:
    if A.dtype is not B.dtype:
        raise RuntimeError(f"{name}: Expected {first} and B to have the same dtype, but found "
                           f"{first} of type {SCALAR_NAMES[A.dtype]} and B of type "
                           f"{SCALAR_NAMES[B.dtype]} instead")


def check_shapes(name: str, A: Any, B: Any, left: bool) -> None:
    """Refuse sides of an equation that do not fit."""
    check_matrix(name, Seen(B), "B")
    check_square(name, Seen(A))
    if A.shape[-1] != B.shape[-2 if left else -1]:
        shown = "AX = B" if left else "XA = B"
        raise RuntimeError(f"{name}: Incompatible shapes of A and B for the equation {shown} "
                           f"({A.shape[-2]}x{A.shape[-1]} and {B.shape[-2]}x{B.shape[-1]})")


def _is_vector(A: Any, B: Any) -> bool:
    """As NumPy did: one vector, or as many as A has matrices."""
    return B.dim() == 1 or (A.dim() - 1 == B.dim() and tuple(A.shape[:-1]) == tuple(B.shape))


def _solve_ex(ops: Any, A: Any, B: Any, left: bool, check_errors: bool) -> Any:
    check_precision("linalg.solve", A.dtype)
    check_square("linalg.solve", Seen(A))
    _same_dtype("linalg.solve", A, B)
    check_kernel("linalg_solve_cpu", A.dtype)
    vector = _is_vector(A, B)
    if vector and not left:
        raise RuntimeError("linalg.solve: Vector broadcasting of the left hand side is not "
                           "supported for left=False. In this case linalg.solve is equivalent to "
                           "B / A.squeeze(-1)")
    right = ops.unsqueeze(B, -1) if vector else B
    check_shapes("linalg.solve", A, right, left)
    if left:
        made, info = ops.linalg_solve_parts(A, right, vector)
    else:
        made, info = ops.linalg_solve_parts(t(ops, A), t(ops, right))
        made = t(ops, made)
    if check_errors:
        raise_where(info, lambda place, _: f"torch.linalg.solve: {place}The solver failed because "
                    "the input matrix is singular.")
    return ops.named("linalg_solve_ex", (ops.squeeze(made, -1) if vector else made, info))


composite("linalg_solve_ex(Tensor A, Tensor B, *, bool left=True, bool check_errors=False) -> "
          "(Tensor, Tensor)", _solve_ex, out=True, method=False,
          doc="The X of A X = B, and 0 or where A is singular.")
composite("linalg_solve(Tensor A, Tensor B, *, bool left=True) -> Tensor",
          lambda ops, A, B, left: _solve_ex(ops, A, B, left, A.device.type != "meta")[0],
          out=True, method=False, autocast="float32", doc="The X of A X = B (left=False: X A = B).")


# ---- triangular --------------------------------------------------------------------------------

def _triangular(p: Any, A: Any, B: Any, upper: bool, unit: bool, turned: bool) -> None:
    made = matrices(p, A.spec.dtype, (*_batch(A, B), *B.spec.shape[-2:]), turned)
    p.host("solve_triangular", [A, B, made], upper=bool(upper), unit=bool(unit))


def _triangular_back(ops: Any, grad: Any, A: Any, result: Any, A_spec: Any, B_spec: Any,
                     upper: bool, unit: bool) -> Any:
    """As for a full matrix, of which only one triangle counts."""
    right = ops.triangular_parts(h(ops, A), grad, not upper, unit)
    left = ops.neg(ops.matmul(right, h(ops, result)))
    left = ops.triu(left, int(unit)) if upper else ops.tril(left, -int(unit))
    return _fit(ops, left, A_spec), _fit(ops, right, B_spec)


library("triangular_parts(Tensor A, Tensor B, bool upper, bool unit, bool turned=True) -> Tensor",
        _triangular, node_name="LinalgSolveTriangularBackward0",
        backward={("A", "B"): _triangular_back})


def _solve_triangular(ops: Any, A: Any, B: Any, upper: bool, left: bool, unitriangular: bool
                      ) -> Any:
    check_shapes("linalg.solve_triangular", A, B, left)
    _same_dtype("linalg.solve_triangular", A, B)
    check_kernel("triangular_solve_cpu", A.dtype)
    if left:
        return ops.triangular_parts(A, B, upper, unitriangular)
    return t(ops, ops.triangular_parts(t(ops, A), t(ops, B), not upper, unitriangular, False))


composite("linalg_solve_triangular(Tensor self, Tensor B, *, bool upper, bool left=True, "
          "bool unitriangular=False) -> Tensor", _solve_triangular, out=True, method=False,
          doc="The X of A X = B for a triangular A; the other triangle is not read.")


def _triangular_solve(ops: Any, self: Any, A: Any, upper: bool, transpose: bool,
                      unitriangular: bool) -> Any:
    for name, x in (("b", self), ("A", A)):
        if x.dim() < 2:
            raise RuntimeError(f"torch.triangular_solve: Expected {name} to have at least 2 "
                               f"dimensions, but it has {x.dim()} dimensions instead")
    check_shapes("torch.triangular_solve", A, self, True)
    if A.dtype is not self.dtype:
        raise RuntimeError(f"Expected b and A to have the same dtype, but found b of type "
                           f"{SCALAR_NAMES[self.dtype]} and A of type {SCALAR_NAMES[A.dtype]} "
                           "instead.")
    if transpose:
        made = ops.triangular_parts(t(ops, A), self, not upper, unitriangular)
    else:
        made = ops.triangular_parts(A, self, upper, unitriangular)
    return ops.named("triangular_solve", (made, by_columns(ops, A)))


composite("triangular_solve(Tensor self, Tensor A, bool upper=True, bool transpose=False, "
          "bool unitriangular=False) -> (Tensor, Tensor)", _triangular_solve, out=True,
          autocast="float32", doc="torch.linalg.solve_triangular, with its former arguments.")


def _cholesky_parts(p: Any, self: Any, factor: Any, upper: bool) -> None:
    made = matrices(p, self.spec.dtype, (*_batch(self, factor), *self.spec.shape[-2:]))
    p.host("cholesky_solve", [self, factor, made], upper=bool(upper))


def _cholesky_back(ops: Any, grad: Any, factor: Any, result: Any, self_spec: Any,
                   factor_spec: Any, upper: bool) -> Any:
    """gA = -gB X^H for A = L L^H, so that gL = (gA + gA^H) L."""
    right = ops.cholesky_solve_parts(grad, factor, upper)
    inner = ops.matmul(right, h(ops, result))
    both = ops.neg(ops.add(inner, h(ops, inner)))
    left = ops.matmul(factor, both) if upper else ops.matmul(both, factor)
    return _fit(ops, right, self_spec), _fit(ops, left, factor_spec)


library("cholesky_solve_parts(Tensor self, Tensor factor, bool upper) -> Tensor", _cholesky_parts,
        node_name="CholeskySolveBackward0", backward={("self", "factor"): _cholesky_back})


def _cholesky_solve(ops: Any, self: Any, input2: Any, upper: bool) -> Any:
    for name, x in (("b", self), ("u", input2)):
        if x.dim() < 2:
            raise RuntimeError(f"{name} should have at least 2 dimensions, but has {x.dim()} "
                               "dimensions instead")
    check_shapes("cholesky_solve", input2, self, True)
    check_kernel("cholesky_solve_cpu", self.dtype)
    return ops.cholesky_solve_parts(self, input2, upper)


composite("cholesky_solve(Tensor self, Tensor input2, bool upper=False) -> Tensor",
          _cholesky_solve, out=True, autocast="float32",
          doc="The X of A X = self, A given by its Cholesky factor.")


def _cholesky_inverse(ops: Any, self: Any, upper: bool) -> Any:
    check_square("cholesky_inverse", Seen(self))
    one = ops.eye(self.shape[-1], dtype=self.dtype, device=self.device)
    return _cholesky_solve(ops, one.expand(self.shape), self, upper)


composite("cholesky_inverse(Tensor self, bool upper=False) -> Tensor", _cholesky_inverse,
          out=True, autocast="float32", doc="The inverse of A, given by its Cholesky factor.")


def _lu_solve(ops: Any, LU: Any, pivots: Any, B: Any, left: bool, adjoint: bool) -> Any:
    check_floating("torch.linalg.lu_solve", LU.dtype)
    if pivots.dtype is not int32:
        raise RuntimeError("linalg.lu_solve: pivots should be a Tensor of scalar type torch.int32")
    check_matrix("linalg.lu_solve", Seen(B), "B")
    check_square("torch.linalg.lu_solve", Seen(LU))
    check_shapes("linalg.lu_solve", LU, B, left)
    _same_dtype("linalg.lu_solve", LU, B, "LU")
    if LU.shape[-1] != pivots.shape[-1]:
        raise RuntimeError("linalg.lu_solve: Number of pivots per batch should be same as the "
                           "dimension of the matrix")
    if LU.shape[:-1] != pivots.shape:
        raise RuntimeError("linalg.lu_solve: Expected LU.shape[:-1] and pivots.shape to be the "
                           f"same, but got pivots with shape {list(pivots.shape)} instead")
    if not left:  # X A = B: A^H X^H = B^H
        return h(ops, _lu_solve(ops, LU, pivots, h(ops, B), True, not adjoint))
    return ops.linalg_lu_solve_parts(LU, pivots, B, adjoint)


def _lu_solve_parts(ops: Any, LU: Any, pivots: Any, B: Any, adjoint: bool) -> Any:
    order = ops.lu_permutation(pivots, LU.shape[-1], LU.dtype, True)
    if adjoint:  # A^H = U^H L^H P^T
        half = ops.triangular_parts(h(ops, LU), B, False, False)
        half = ops.triangular_parts(h(ops, LU), half, True, True)
        return t(ops, ops.matmul(t(ops, half), t(ops, order)))
    half = ops.triangular_parts(LU, ops.matmul(t(ops, order), B), False, True)
    return ops.triangular_parts(LU, half, True, False)


def _lu_solve_back(ops: Any, grad: Any, LU: Any, pivots: Any, result: Any, adjoint: bool,
                   LU_spec: Any, B_spec: Any, needs: tuple[bool, ...]) -> Any:
    """From M Y = Z follow gZ = M^-H gY and gM = -gZ Y^H, for each of two triangular systems."""
    order = ops.lu_permutation(pivots, LU.shape[-1], LU.dtype)
    upper, strict = ops.triu(LU), ops.tril(LU, -1)
    if adjoint:  # Z = U^-H B, P^T X = Y = L^-H Z
        y = ops.matmul(t(ops, order), result)
        z = ops.add(ops.matmul(h(ops, strict), y), y)
        half = ops.triangular_parts(LU, ops.matmul(t(ops, order), grad), False, True)  # of Z
        made = ops.triangular_parts(LU, half, True, False)  # of B
        low, high = ops.matmul(y, h(ops, half)), ops.matmul(z, h(ops, made))
    else:  # Z = L^-1 P^T B, X = U^-1 Z
        z = ops.matmul(upper, result)
        half = ops.triangular_parts(h(ops, LU), grad, False, False)  # of Z
        rest = ops.triangular_parts(h(ops, LU), half, True, True)  # of P^T B
        made = t(ops, ops.matmul(t(ops, rest), t(ops, order)))  # columns first, as PyTorch's
        low, high = ops.matmul(rest, h(ops, z)), ops.matmul(half, h(ops, result))
    both = ops.neg(ops.add(ops.tril(low, -1), ops.triu(high)))
    return (ops.sum_to_size(both, tuple(LU_spec.shape)) if needs[0] else None,
            ops.sum_to_size(made, tuple(B_spec.shape)) if needs[2] else None)


composite("linalg_lu_solve_parts(Tensor LU, Tensor pivots, Tensor B, bool adjoint) -> Tensor",
          _lu_solve_parts, method=False, holomorphic=False, node_name="LinalgLuSolveBackward0",
          backward={("LU", "B"): _lu_solve_back})


composite("linalg_lu_solve(Tensor LU, Tensor pivots, Tensor B, *, bool left=True, "
          "bool adjoint=False) -> Tensor", _lu_solve, out=True, method=False,
          autocast="given", doc="The X of A X = B, A given by torch.linalg.lu_factor.")
composite("lu_solve(Tensor self, Tensor LU_data, Tensor LU_pivots) -> Tensor",
          lambda ops, self, LU_data, LU_pivots: _lu_solve(
              ops, LU_data, LU_pivots, self, True, False),
          out=True, autocast="float32", doc="torch.linalg.lu_solve, self on the right.")


# ---- inverses ----------------------------------------------------------------------------------

def _inv(p: Any, A: Any) -> None:
    check_precision("linalg.inv", A.spec.dtype)
    check_square("linalg.inv", A)
    check_kernel("linalg_inv_cpu", A.spec.dtype)
    made, = results(p, A, tuple(A.spec.shape[-2:]))
    p.host("inv", [A, made, p.result(spec(int32, tuple(A.spec.shape[:-2]), None, p.device))])


library("linalg_inv_parts(Tensor A) -> (Tensor, Tensor)", _inv, carriers=1,
        node_name="LinalgInvExBackward0",
        backward={"A": lambda ops, grads, result0: ops.neg(ops.matmul(
            h(ops, result0), ops.matmul(grads[0], h(ops, result0))))})


def _inv_ex(ops: Any, A: Any, check_errors: bool) -> Any:
    made = ops.linalg_inv_parts(A)
    if check_errors:
        raise_where(made[1], lambda place, number: (
            f"linalg.inv: {place}The diagonal element {number} is zero, the inversion could not be "
            "completed because the input matrix is singular."))
    return ops.named("linalg_inv_ex", made)


composite("linalg_inv_ex(Tensor A, *, bool check_errors=False) -> (Tensor, Tensor)", _inv_ex,
          out=True, method=False, autocast="float32",
          doc="The inverse, and 0 or where the matrix is singular.")
composite("linalg_inv(Tensor A) -> Tensor",
          lambda ops, A: _inv_ex(ops, A, A.device.type != "meta")[0], out=True, method=False,
          autocast="float32", doc="The inverse.")
composite("inverse(Tensor self) -> Tensor", lambda ops, self: ops.linalg_inv(self), out=True,
          autocast="float32", doc="torch.linalg.inv.")


def _pinv(p: Any, A: Any, atol: Any, rtol: Any, hermitian: bool) -> None:
    m, n = A.spec.shape[-2:]
    p.host("pinv", [A, atol, rtol, *results(p, A, (n, m), turned=False)], hermitian=bool(hermitian))


def pinv_back(ops: Any, grad: Any, A: Any, result: Any) -> Any:
    """-P^H gP P^H + (I - A P) gP^H P P^H + P^H P gP^H (I - P A), for a constant rank."""
    turned, back = h(ops, result), h(ops, grad)
    made = ops.neg(ops.matmul(turned, ops.matmul(grad, turned)))
    first = ops.matmul(ops.matmul(back, result), turned)  # (m, n)
    made = ops.add(made, ops.sub(first, ops.matmul(A, ops.matmul(result, first))))
    second = ops.matmul(turned, ops.matmul(result, back))
    return ops.add(made, ops.sub(second, ops.matmul(ops.matmul(second, result), A)))


library("linalg_pinv_parts(Tensor A, Tensor atol, Tensor rtol, bool hermitian) -> Tensor", _pinv,
        node_name="LinalgPinvBackward0", backward={"A": pinv_back})


def tolerances(ops: Any, A: Any, atol: Any, rtol: Any, name: str) -> tuple[Any, Any]:
    """Both as tensors; rtol is eps * the larger size unless atol is given."""
    for given, kind in ((atol, "atol"), (rtol, "rtol")):
        if not isinstance(given, (int, float, type(None))) and given.dtype.is_complex:
            raise RuntimeError(f"torch.linalg.{name}: {kind} tensor of complex type is not "
                               f"supported. Got {SCALAR_NAMES[given.dtype]}")
    if rtol is None:
        rtol = finfo(A.dtype).eps * max(A.shape[-2:])
        if atol is not None:
            if isinstance(atol, (int, float)):
                rtol = 0.0 if atol > 0 else rtol
            else:
                rtol = ops.where(ops.gt(atol, 0), 0.0, rtol)
    atol = 0.0 if atol is None else atol
    dtype = real_of(A.dtype)
    return tuple(ops.full((), float(v), dtype=dtype, device=A.device)
                 if isinstance(v, (int, float)) else ops.to_dtype(v, dtype) for v in (atol, rtol))


def _pinv_public(ops: Any, A: Any, rcond: Any, hermitian: bool, atol: Any, rtol: Any) -> Any:
    if A.dim() < 2 or A.dtype.category < FLOATING or A.dtype.itemsize < 4:
        raise RuntimeError(f"linalg.pinv({SCALAR_NAMES[A.dtype]}{{{list(A.shape)}}}): expected a "
                           "tensor with 2 or more dimensions of float, double, cfloat or cdouble "
                           "types")
    if hermitian:
        check_square("linalg.pinv", Seen(A))
    atol, rtol = tolerances(ops, A, atol, rtol if rcond is None else rcond, "pinv")
    return ops.linalg_pinv_parts(A, atol, rtol, hermitian)


composite("linalg_pinv(Tensor A, float|Tensor? rcond=None, bool hermitian=False, *, "
          "float|Tensor? atol=None, "
          "float|Tensor? rtol=None) -> Tensor", _pinv_public, out=True, method=False,
          doc="The pseudo-inverse.")
composite("pinverse(Tensor self, float rcond=1e-15) -> Tensor",
          lambda ops, self, rcond: ops.linalg_pinv(self, rcond), autocast="float32",
          doc="torch.linalg.pinv with a relative tolerance.")


# ---- least squares -----------------------------------------------------------------------------

def _lstsq(p: Any, A: Any, B: Any, rcond: float) -> None:
    m, n = A.spec.shape[-2:]
    batch = tuple(A.spec.shape[:-2])
    # The first n rows of what LAPACK has computed in the memory of B.
    columns = B.spec.shape[-1]
    strides = (*columns_first((*batch, max(m, n), columns))[:-2], 1, max(m, n, 1))
    made = [p.result(spec(A.spec.dtype, (*batch, n, columns), strides, p.device)),
            p.result(spec(int64, batch, None, p.device)),
            p.result(spec(real_of(A.spec.dtype), (*batch, min(m, n)), None, p.device))]
    p.host("lstsq", [A, B, *made], rcond=rcond)


def _lstsq_back(ops: Any, grads: Any, A: Any, B: Any, rcond: float) -> Any:
    """X = pinv(A) B."""
    inverse = ops.linalg_pinv(A, rcond)
    left = pinv_back(ops, ops.matmul(grads[0], h(ops, B)), A, inverse)
    return left, ops.matmul(h(ops, inverse), grads[0])


library("linalg_lstsq_parts(Tensor A, Tensor B, any rcond) -> (Tensor, Tensor, Tensor)", _lstsq,
        carriers=1, node_name="LinalgLstsqBackward0", backward={("A", "B"): _lstsq_back})


def _lstsq_public(ops: Any, self: Any, b: Any, rcond: Any, driver: Any) -> Any:
    name = "torch.linalg.lstsq"
    if self.dim() < 2:
        raise RuntimeError(f"{name}: input must have at least 2 dimensions.")
    if b.dim() < 1:
        raise RuntimeError(f"{name}: other must have at least 1 dimension.")
    if self.dtype is not b.dtype:
        raise RuntimeError(f"{name}: input and other must have the same dtype")
    if driver not in (None, "gels", "gelsy", "gelsd", "gelss"):
        raise RuntimeError(f"{name}: parameter `driver` should be one of (gels, gelsy, gelsd, "
                           "gelss)")
    vector = self.dim() - 1 == b.dim() and tuple(self.shape[:-1]) == tuple(b.shape)
    right = ops.unsqueeze(b, -1) if vector else b
    if not vector and b.dim() != self.dim() and b.dim() < 2:
        raise RuntimeError(f"{name}: input.dim() must be greater or equal to other.dim() and "
                           "(input.dim() - other.dim()) <= 1")
    if self.shape[-2] != right.shape[-2]:
        raise RuntimeError(f"{name}: input.size({-2}) should match other.size("
                           f"{-1 if vector else -2})")
    check_kernel("linalg_lstsq_cpu", self.dtype)
    batch = broadcast_shapes(self.shape[:-2], right.shape[:-2])
    A = self.expand((*batch, *self.shape[-2:]))
    right = right.expand((*batch, *right.shape[-2:]))
    least = finfo(self.dtype).eps * max(self.shape[-2:]) if rcond is None else float(rcond)
    made, rank, values = ops.linalg_lstsq_parts(A, right, least)
    if driver == "gels":  # which takes the rank for granted, but for matrices of zeros
        lacks = ops.logical_and(ops.lt(rank, min(A.shape[-2:])), ops.gt(rank, 0))
        raise_where(ops.mul(ops.add(rank, 1), lacks), lambda place, code: (
            f"{name}: {place}The least squares solution could not be computed because the input "
            f"matrix does not have full rank (error code: {code})."))
    return _lstsq_results(ops, A, right, vector, driver or "gelsy", made, rank, values)


def _lstsq_results(ops: Any, A: Any, B: Any, vector: bool, driver: str, made: Any, rank: Any,
                   values: Any) -> Any:
    m, n = A.shape[-2:]
    empty = ops.empty(0, dtype=values.dtype, device=A.device)
    residuals = ops.narrow(ops.reshape(real_part(ops, made), (-1,)), 0, 0, 0)  # on the tape
    full = driver != "gelsy" and rank.numel() and (
        driver == "gels" or bool(ops.all(ops.eq(rank, n))))
    if m > n and full:
        apart = ops.sub(ops.matmul(A, made), B)
        size = ops.abs(apart)
        residuals = ops.sum(ops.mul(size, size), (-2,))
    rank = ops.empty(0, dtype=int64, device=A.device) if driver == "gels" else rank
    return ops.named("linalg_lstsq", (
        ops.squeeze(made, -1) if vector else made, residuals, rank,
        values if driver in ("gelsd", "gelss") else empty))


composite("linalg_lstsq(Tensor self, Tensor b, float? rcond=None, *, str? driver=None) -> "
          "(Tensor, Tensor, Tensor, Tensor)", _lstsq_public, out=True, method=False,
          autocast="float32", doc="The X that makes |A X - B| smallest.")


# ---- tensors as matrices -----------------------------------------------------------------------

def _tensorinv(ops: Any, self: Any, ind: int) -> Any:
    if ind <= 0:
        raise RuntimeError("Expected a strictly positive integer for 'ind'")
    first, last = tuple(self.shape[:ind]), tuple(self.shape[ind:])
    if ind > self.dim():
        raise RuntimeError(f"ArrayRef: invalid slice, N = {ind}; size = {self.dim()}")
    if math.prod(first) != math.prod(last):
        raise RuntimeError("Expected self to satisfy the requirement prod(self.shape[ind:]) == "
                           f"prod(self.shape[:ind]), but got {math.prod(last)} != "
                           f"{math.prod(first)}")
    made = ops.linalg_inv(ops.reshape(self, (math.prod(first), math.prod(last))))
    return ops.reshape(made, (*last, *first))


composite("linalg_tensorinv(Tensor self, int ind=2) -> Tensor", _tensorinv, out=True,
          method=False, autocast="float32", doc="The inverse under torch.tensordot.")


def _tensorsolve(ops: Any, self: Any, other: Any, dims: Any) -> Any:
    if dims is not None:
        self = ops.movedim(self, tuple(dims), tuple(range(self.dim() - len(dims), self.dim())))
    size = math.prod(other.shape)
    rest = tuple(self.shape[other.dim():])
    if math.prod(self.shape) != size * math.prod(rest) or size != math.prod(rest):
        raise RuntimeError("Expected self to satisfy the requirement prod(self.shape[other.ndim:]) "
                           f"== prod(self.shape[:other.ndim]), but got {math.prod(rest)} != "
                           f"{math.prod(self.shape[:other.dim()])}")
    made = ops.linalg_solve(ops.reshape(self, (size, size)), ops.reshape(other, (size,)))
    return ops.reshape(made, rest)


composite("linalg_tensorsolve(Tensor self, Tensor other, int[]? dims=None) -> Tensor",
          _tensorsolve, out=True, method=False, autocast="float32",
          doc="The X of torch.tensordot(self, X) = other.")

__all__ = ["check_shapes", "pinv_back", "tolerances"]
