"""Factors of low rank from random projections.

N. Halko, P.-G. Martinsson, J. Tropp, Finding structure with randomness, arXiv:0909.4061:
algorithm 4.4 (a basis of the range by subspace iteration) and 5.1 (the factors from the basis).
"""

from __future__ import annotations

from . import functional as ops
from . import linalg
from ._tensor import Tensor
from .core.dtypes import FLOATING
from .dispatch.outputs import C_NAMES

__all__ = ["pca_lowrank", "svd_lowrank"]


def _basis(A: Tensor, q: int, niter: int) -> Tensor:
    """q orthonormal columns that span most of A's range."""
    if A.dtype.category < FLOATING:  # the factors drawn are floats
        raise RuntimeError("expected m1 and m2 to have the same dtype, but got: "
                           f"{C_NAMES[A.dtype.name]} != float")
    drawn = ops.randn(A.shape[-1], q, dtype=A.dtype, device=A.device)
    Q = linalg.qr(A @ drawn).Q
    for _ in range(niter):
        Q = linalg.qr(A.mH @ Q).Q
        Q = linalg.qr(A @ Q).Q
    return Q


def svd_lowrank(
    A: Tensor, q: int | None = 6, niter: int | None = 2, M: Tensor | None = None
) -> tuple[Tensor, Tensor, Tensor]:
    """U, S, V with A - M close to U diag(S) V^H, of rank at most `q`.

    A: (*, m, n), floating-point or complex; M, to subtract, broadcasts to it. U is (*, m, q), S
    (*, q) in descending order, V (*, n, q). `q` should be a little more than the rank wanted,
    `niter` (not negative) is how often the projection is refined. The projection is drawn: the
    same seed gives the same factors.

    >>> A = torch.outer(torch.arange(4.0), torch.ones(3))
    >>> U, S, V = torch.svd_lowrank(A, q=2)
    >>> torch.testing.assert_close((U * S) @ V.T, A)
    """
    q, niter = 6 if q is None else q, 2 if niter is None else niter
    rows, columns = A.shape[-2:]
    if M is not None:
        A = A - M.broadcast_to(A.shape)
    if rows < columns:
        A = A.mH
    Q = _basis(A, q, niter)
    U, S, Vh = linalg.svd(Q.mH @ A, full_matrices=False)
    U, V = Q @ U, Vh.mH
    return (V, S, U) if rows < columns else (U, S, V)


def pca_lowrank(
    A: Tensor, q: int | None = None, center: bool = True, niter: int = 2
) -> tuple[Tensor, Tensor, Tensor]:
    """U, S, V as of `svd_lowrank`, with the mean of every column of A (*, m, n) subtracted.

    The columns of V are the principal directions, S**2 / (m - 1) the variances along them, and
    A @ V[:, :k] the first k components. `q`: at most min(m, n), 6 where it may be. ValueError
    where `q` or `niter` is out of range.

    >>> points = torch.tensor([[0.0, 0.0], [1.0, 2.0], [2.0, 4.0]])
    >>> variances = torch.pca_lowrank(points, q=1)[1] ** 2 / 2
    >>> torch.testing.assert_close(variances, torch.tensor([5.0]))
    """
    rows, columns = A.shape[-2:]
    most = min(rows, columns)
    if q is None:
        q = min(6, most)
    elif not 0 <= q <= most:
        raise ValueError(
            f"q(={q}) must be non-negative integer and not greater than min(m, n)={most}"
        )
    if niter < 0:
        raise ValueError(f"niter(={niter}) must be non-negative integer")
    if center:
        A = A - A.mean(dim=-2, keepdim=True)
    return svd_lowrank(A, q, niter=niter)
