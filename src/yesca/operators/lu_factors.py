"""LU factorisations: packed as LAPACK packs them, and apart as P, L and U.

The derivative for square, tall and wide matrices follows from A = P L U by blocks; in comments, g
stands for the gradient of what follows it: gL, gU.
"""

from __future__ import annotations

from typing import Any

from ..core.dtypes import int32
from ..core.spec import spec
from .factorisations import library, results
from .kinds import composite
from .matrices import Seen, check_kernel, h, raise_where


def _lu(p: Any, A: Any) -> None:
    if A.spec.ndim < 2:
        raise RuntimeError("torch.lu_factor: Expected tensor with 2 or more dimensions. Got size: "
                           f"{list(A.spec.shape)} instead")
    check_kernel("lu_cpu", A.spec.dtype)
    batch, (m, n) = tuple(A.spec.shape[:-2]), A.spec.shape[-2:]
    packed, = results(p, A, (m, n))
    pivots = p.result(spec(int32, (*batch, min(m, n)), None, p.device))
    p.host("lu_factor", [A, packed, pivots, p.result(spec(int32, batch, None, p.device))])


def _lu_back(ops: Any, grads: Any, result0: Any, result1: Any) -> Any:
    """P L^-H (tril(L^H gL, -1) + triu(gU U^H)) U^-H for square matrices."""
    grad = grads[0]
    m, n = grad.shape[-2:]
    k = min(m, n)
    permuted, lower, upper = ops.lu_parts(result0, result1)
    square_l, square_u = ops.narrow(lower, -2, 0, k), ops.narrow(upper, -1, 0, k)
    head = ops.narrow(ops.narrow(grad, -2, 0, k), -1, 0, k)
    low = ops.matmul(h(ops, square_l), ops.tril(head, -1))
    high = ops.matmul(ops.triu(head), h(ops, square_u))
    if m > n:  # the rows below: L2 = A2 U^-1
        rest_l, rest_grad = ops.narrow(lower, -2, k, m - k), ops.narrow(grad, -2, k, m - k)
        high = ops.sub(high, ops.matmul(h(ops, rest_l), rest_grad))
    if m < n:  # the columns beyond: U2 = L^-1 A2
        rest_u, rest_grad = ops.narrow(upper, -1, k, n - k), ops.narrow(grad, -1, k, n - k)
        low = ops.sub(low, ops.matmul(rest_grad, h(ops, rest_u)))
    middle = ops.add(ops.tril(low, -1), ops.triu(high))
    middle = _from_left(ops, square_l, middle)
    made = ops.linalg_solve_triangular(h(ops, square_u), middle, upper=False, left=False)
    if m > n:
        rest = ops.linalg_solve_triangular(h(ops, square_u), rest_grad, upper=False, left=False)
        made = ops.cat([made, rest], -2)
    if m < n:
        made = ops.cat([made, _from_left(ops, square_l, rest_grad)], -1)
    return ops.matmul(permuted, made)


def _from_left(ops: Any, lower: Any, x: Any) -> Any:
    """L^-H x."""
    return ops.linalg_solve_triangular(h(ops, lower), x, upper=True, unitriangular=True)


library("linalg_lu_packed(Tensor A) -> (Tensor, Tensor, Tensor)", _lu, carriers=1,
        node_name="LinalgLuFactorExBackward0", backward={"A": _lu_back})


def _permutation(p: Any, pivots: Any, size: int, dtype: Any, solving: bool) -> None:
    batch = tuple(pivots.spec.shape[:-1])
    p.host("lu_permutation", [pivots, p.result(spec(dtype, (*batch, size, size), None, p.device))],
           solving=bool(solving))


library("lu_permutation(Tensor pivots, int size, dtype dtype, bool solving=False) -> Tensor",
        _permutation)


def _lu_parts(ops: Any, LU_data: Any, LU_pivots: Any) -> Any:
    """P, L and U of a packed factorisation."""
    m, n = LU_data.shape[-2:]
    k = min(m, n)
    one = ops.eye(m, k, dtype=LU_data.dtype, device=LU_data.device)
    lower = ops.add(ops.tril(ops.narrow(LU_data, -1, 0, k), -1), one)
    upper = ops.triu(ops.narrow(LU_data, -2, 0, k))
    return ops.lu_permutation(LU_pivots, m, LU_data.dtype), lower, upper


composite("lu_parts(Tensor LU_data, Tensor LU_pivots) -> (Tensor, Tensor, Tensor)", _lu_parts,
          method=False)


def _lu_unpack(ops: Any, LU_data: Any, LU_pivots: Any, unpack_data: bool, unpack_pivots: bool
               ) -> Any:
    if unpack_pivots and LU_pivots.dtype is not int32:
        raise RuntimeError("torch.lu_unpack: LU_pivots is expected to be a contiguous tensor of "
                           "torch.int32 dtype.\nNote: this function is intended to be used with "
                           "the output produced by torch.linalg.lu_factor")
    if LU_data.dim() < 2:
        raise RuntimeError("torch.lu_unpack: Expected tensor with 2 or more dimensions. Got size: "
                           f"{list(LU_data.shape)} instead")
    made = list(ops.lu_parts(LU_data, LU_pivots))
    empty = ops.empty(0, dtype=LU_data.dtype, device=LU_data.device)
    if not unpack_pivots:
        made[0] = empty
    if not unpack_data:
        made[1] = made[2] = empty
    return ops.named("lu_unpack", tuple(made))


composite("lu_unpack(Tensor LU_data, Tensor LU_pivots, bool unpack_data=True, bool unpack_pivots="
          "True) -> (Tensor, Tensor, Tensor)", _lu_unpack, out=True, method=False,
          doc="P, L and U of what torch.linalg.lu_factor gives.")


def _check_pivot(pivot: bool) -> None:
    if not pivot:
        raise RuntimeError("linalg.lu_factor: LU without pivoting is not implemented on the CPU")


def _lu_factor_ex(ops: Any, A: Any, pivot: bool, check_errors: bool) -> Any:
    _check_pivot(pivot)
    made = ops.linalg_lu_packed(A)
    if check_errors:
        _raise_zero(made[2])
    return ops.named("linalg_lu_factor_ex", made)


def _raise_zero(info: Any) -> None:
    try:
        raise_where(info, lambda place, number: (
            f"torch.linalg.lu_factor: {place}U[{number},{number}] is zero and using it on lu_solve "
            "would result in a division by zero. If you still want to perform the factorization, "
            "consider calling linalg.lu(A, pivot) or linalg.lu_factor_ex(A, pivot)"))
    except RuntimeError as error:
        raise RuntimeError(str(error)) from None  # a plain one, as in PyTorch


def _lu_factor(ops: Any, A: Any, pivot: bool) -> Any:
    _check_pivot(pivot)
    packed, pivots, info = ops.linalg_lu_packed(A)
    _raise_zero(info)
    return ops.named("linalg_lu_factor", (packed, pivots))


def _lu_public(ops: Any, A: Any, pivot: bool) -> Any:
    if A.dim() < 2:
        raise RuntimeError("linalg.lu: Expected tensor with 2 or more dimensions. Got size: "
                           f"{list(A.shape)} instead")
    _check_pivot(pivot)
    check_kernel("lu_cpu", Seen(A).spec.dtype)
    packed, pivots, _ = ops.linalg_lu_packed(A)
    return ops.named("linalg_lu", ops.lu_parts(packed, pivots))


composite("linalg_lu_factor_ex(Tensor A, *, bool pivot=True, bool check_errors=False) -> "
          "(Tensor, Tensor, Tensor)", _lu_factor_ex, out=True, method=False,
          doc="L and U in one matrix, the exchanges of rows, and 0 or the first zero of U.")
composite("linalg_lu_factor(Tensor A, *, bool pivot=True) -> (Tensor, Tensor)", _lu_factor,
          out=True, method=False, doc="L and U in one matrix, and the exchanges of rows.")
composite("linalg_lu(Tensor A, *, bool pivot=True) -> (Tensor, Tensor, Tensor)", _lu_public,
          out=True, method=False, doc="A = P L U.")
