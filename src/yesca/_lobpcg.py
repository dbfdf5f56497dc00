"""`torch.lobpcg`: the first eigenpairs of a symmetric matrix."""

from __future__ import annotations

from typing import Any

from . import functional as ops
from .base.naming import public_module


def lobpcg(A: Any, k: int | None = None, B: Any = None, X: Any = None,  # noqa: N803
           n: int | None = None, iK: Any = None, niter: int | None = None,  # noqa: N803
           tol: float | None = None, largest: bool | None = None, method: str | None = None,
           tracker: Any = None, ortho_iparams: Any = None, ortho_fparams: Any = None,
           ortho_bparams: Any = None) -> tuple[Any, Any]:
    """The k largest (or smallest) eigenvalues of A x = w B x, and vectors x for them.

    Matrices here are dense, and all their eigenpairs are found at once, to full accuracy: what
    steers an iteration (iK, niter, tol, method, tracker, ortho_...) is not looked at.

    Args:
        A: (..., m, m), symmetric; its gradient is exact.
        k: how many; by default as many as X has columns, or 1.
        B: (..., m, m), symmetric and positive definite; by default the identity.
        X: (..., m, k), a start of the iteration: only the number of its columns counts.
        largest: the smallest if False.

    Gives eigenvalues (..., k), in descending order if largest, and vectors (..., m, k) with
    x B x = 1. Raises ValueError for k of more than a third of m.

    >>> import yesca as torch
    >>> values, vectors = torch.lobpcg(torch.diag(torch.tensor([1.0, 5.0, 3.0])), k=1)
    >>> values
    tensor([5.])
    """
    if A.dim() < 2 or A.shape[-2] != A.shape[-1]:
        raise AssertionError(f"A must be square, got shape {A.shape}")
    if B is not None and A.shape != B.shape:
        raise AssertionError(f"A and B must have same shape, got {A.shape} vs {B.shape}")
    size = A.shape[-1]
    count = k if k is not None else 1 if X is None else X.shape[-1]
    columns = n if n is not None else count if X is None else X.shape[-1]
    if size < 3 * columns:
        raise ValueError(f"LOBPCG algorithm is not applicable when the number of A rows (={size}) "
                         f"is smaller than 3 x the number of requested eigenpairs (={columns})")
    largest = largest is None or largest
    if B is None:
        values, vectors = ops.linalg_eigh(A)
    else:
        factor = ops.linalg_cholesky(B)
        half = ops.linalg_solve_triangular(factor, A, upper=False)  # L^-1 A L^-T is symmetric
        inner = ops.linalg_solve_triangular(factor, half.mT, upper=False)
        values, vectors = ops.linalg_eigh(inner)
        vectors = ops.linalg_solve_triangular(factor.mT, vectors, upper=True)
    if largest:
        values, vectors = values.flip(-1), vectors.flip(-1)
    return values[..., :count], vectors[..., :count]


lobpcg.__module__ = public_module("torch")
