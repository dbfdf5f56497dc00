"""L D L^T factorisations of symmetric and Hermitian matrices, packed as LAPACK packs them.

PyTorch has no derivatives of these: a gradient is refused when it is asked for.
"""

from __future__ import annotations

from typing import Any

from ..base.errors import underived
from ..core.dtypes import INTEGRAL, SCALAR_NAMES, int32
from ..core.spec import spec
from ..core.views import broadcast_shapes
from .factorisations import library, matrices, results
from .kinds import composite
from .matrices import check_floating, check_kernel, check_square, raise_where


def _refused(name: str) -> Any:
    def formula(grads: Any) -> Any:
        raise underived(name)
    return formula


def _ldl(p: Any, A: Any, hermitian: bool) -> None:
    check_square("torch.linalg.ldl_factor_ex", A)
    check_floating("torch.linalg.ldl_factor_ex", A.spec.dtype)
    check_kernel("ldl_factor_kernel_cpu", A.spec.dtype)
    batch, n = tuple(A.spec.shape[:-2]), A.spec.shape[-1]
    packed, = results(p, A, (n, n))
    pivots = p.result(spec(int32, (*batch, n), None, p.device))
    info = p.result(spec(int32, batch, None, p.device))
    p.host("ldl_factor", [A, packed, pivots, info], hermitian=hermitian)


library("linalg_ldl_packed(Tensor A, bool hermitian) -> (Tensor, Tensor, Tensor)", _ldl,
        carriers=1, node_name="NotImplemented", backward={"A": _refused("linalg_ldl_factor_ex")},
        samples=lambda make: [(make(3, 3), False), (make(2, 4, 4), True)])


def _check_info(name: str, info: Any) -> None:
    try:
        raise_where(info, lambda place, number: (
            f"torch.linalg.{name}: {place}D[{number},{number}] is zero and using it on ldl_solve "
            "would result in a division by zero"))
    except RuntimeError as error:
        raise RuntimeError(str(error)) from None  # a plain one, as in PyTorch


def _ldl_factor_ex(ops: Any, A: Any, hermitian: bool, check_errors: bool) -> Any:
    made = ops.linalg_ldl_packed(A, hermitian)
    if check_errors:
        _check_info("ldl_factor_ex", made[2])
    return ops.named("linalg_ldl_factor_ex", made)


def _ldl_factor(ops: Any, A: Any, hermitian: bool) -> Any:
    packed, pivots, info = ops.linalg_ldl_packed(A, hermitian)
    _check_info("ldl_factor", info)
    return ops.named("linalg_ldl_factor", (packed, pivots))


composite("linalg_ldl_factor_ex(Tensor A, *, bool hermitian=False, bool check_errors=False) -> "
          "(Tensor, Tensor, Tensor)", _ldl_factor_ex, out=True, method=False,
          doc="L and D in one matrix, the exchanges of rows, and 0 or the first zero of D.")
composite("linalg_ldl_factor(Tensor A, *, bool hermitian=False) -> (Tensor, Tensor)", _ldl_factor,
          out=True, method=False, doc="L and D in one matrix, and the exchanges of rows.")


def _check_system(LD: Any, pivots: Any, B: Any) -> None:
    check_square("torch.linalg.ldl_solve", LD)
    check_floating("torch.linalg.ldl_solve", LD.spec.dtype)
    n = LD.spec.shape[-1]
    if B.spec.ndim < 2:
        raise IndexError("Dimension out of range (expected to be in range of "
                         f"[{-max(B.spec.ndim, 1)}, {max(B.spec.ndim, 1) - 1}], but got -2)")
    if B.spec.shape[-2] != n:
        raise RuntimeError("Incompatible matrix sizes for torch.linalg.ldl_solve: each A matrix is "
                           f"{n} by {n} but each b matrix is {B.spec.shape[-2]} by "
                           f"{B.spec.shape[-1]}")
    if tuple(pivots.spec.shape) != tuple(LD.spec.shape[:-1]):
        raise RuntimeError("torch.linalg.ldl_solve: Expected LD.shape[:-1] and pivots.shape to be "
                           f"the same, but got pivots with shape {list(pivots.spec.shape)} instead")
    if pivots.spec.dtype.category != INTEGRAL:
        raise RuntimeError("torch.linalg.ldl_solve: Expected pivots to be integers. Got "
                           f"{SCALAR_NAMES[pivots.spec.dtype]}")
    if LD.spec.dtype is not B.spec.dtype:
        raise RuntimeError("Expected b and A to have the same dtype, but found b of type "
                           f"{SCALAR_NAMES[B.spec.dtype]} and A of type "
                           f"{SCALAR_NAMES[LD.spec.dtype]} instead.")


def _ldl_solve(p: Any, LD: Any, pivots: Any, B: Any, hermitian: bool) -> None:
    _check_system(LD, pivots, B)
    check_kernel("ldl_solve_kernel_cpu", LD.spec.dtype)
    batch = broadcast_shapes(tuple(LD.spec.shape[:-2]), tuple(B.spec.shape[:-2]))
    made = matrices(p, B.spec.dtype, (*batch, *B.spec.shape[-2:]))
    p.host("ldl_solve", [LD, pivots, B, made], hermitian=hermitian)


library("linalg_ldl_solve(Tensor LD, Tensor pivots, Tensor B, *, bool hermitian=False) -> Tensor",
        _ldl_solve, out=True, node_name="NotImplemented",
        backward=dict.fromkeys(("LD", "B"), _refused("linalg_ldl_solve")),
        doc="The X of A X = B, A given by torch.linalg.ldl_factor.")
